import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Listener, ListenerEvents } from './listener.ts'

/** A connection that is only listened on may die without a word, so it is asked for a sign of life. */
const heartbeatMilliseconds = 10_000
const answerMilliseconds = 5_000
const longestPauseMilliseconds = 5_000

/**
 * Listens on a channel over a connection of its own. When that is lost, another is made, until it is closed.
 *
 * @param onError told of each connection that was lost or could not be made
 * @throws when the first connection cannot be made
 */
export async function listenOnPostgresql(
  settings: pg.ClientConfig,
  channel: string,
  { onMessage, onGap }: ListenerEvents,
  onError: (error: Error) => void,
): Promise<Listener> {
  const closing = new AbortController()
  let client = await connect()
  const supervised = supervise()

  async function connect(): Promise<pg.Client> {
    const connection = new pg.Client({ ...settings, keepAlive: true, query_timeout: answerMilliseconds })
    connection.on('error', () => undefined)
    connection.on('notification', ({ payload = '' }) => onMessage(payload))
    try {
      await connection.connect()
      await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`)
      return connection
    } catch (error) {
      void connection.end().catch(() => undefined)
      throw error
    }
  }

  async function supervise(): Promise<void> {
    while (!closing.signal.aborted) {
      const error = await untilLost(client)
      if (closing.signal.aborted) return
      onError(error)
      void client.end().catch(() => undefined)
      await reconnect()
    }
  }

  async function reconnect(): Promise<void> {
    for (let pause = 100; !closing.signal.aborted; pause = Math.min(pause * 2, longestPauseMilliseconds)) {
      await sleep(pause, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        client = await connect()
        onGap()
        return
      } catch (error) {
        onError(error as Error)
      }
    }
  }

  /** Resolves with the reason when the connection is gone, or nobody answers on it, or the listener is closed. */
  function untilLost(connection: pg.Client): Promise<Error> {
    return new Promise((resolve) => {
      const heartbeat = setInterval(() => void connection.query('SELECT 1').catch(end), heartbeatMilliseconds).unref()
      function end(error: Error = new Error('The connection that listens was closed')) {
        clearInterval(heartbeat)
        resolve(error)
      }
      connection.once('error', end).once('end', () => end())
      closing.signal.addEventListener('abort', () => end(), { once: true })
    })
  }

  return {
    async close() {
      closing.abort()
      await supervised
      await client.end().catch(() => undefined)
    },
  }
}
