import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Listener, ListenerEvents } from './listener.ts'

/** A connection that is only listened on may die without a word, so it is asked for a sign of life. */
const heartbeatMilliseconds = 10_000
const answerMilliseconds = 5_000
const longestPauseMilliseconds = 5_000
const goodbyeMilliseconds = 1_000

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
  let { client, hangUp } = await connect()
  const supervised = supervise()

  async function connect() {
    const socket = new Socket()
    const connection = new pg.Client({
      ...settings,
      ...{ keepAlive: true, query_timeout: answerMilliseconds, stream: () => socket },
    })
    // A server that is frozen does not say goodbye, so nobody waits long for it.
    const hangUp = async () => {
      await Promise.race([connection.end().catch(() => undefined), sleep(goodbyeMilliseconds)])
      socket.destroy()
    }
    connection.on('error', () => undefined)
    connection.on('notification', ({ payload = '' }) => onMessage(payload))
    try {
      await connection.connect()
      await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`)
      return { client: connection, hangUp }
    } catch (error) {
      void hangUp()
      throw error
    }
  }

  async function supervise(): Promise<void> {
    while (!closing.signal.aborted) {
      const error = await untilLost(client)
      if (closing.signal.aborted) return
      onError(error)
      void hangUp()
      await reconnect()
    }
  }

  async function reconnect(): Promise<void> {
    for (let pause = 100; !closing.signal.aborted; pause = Math.min(pause * 2, longestPauseMilliseconds)) {
      await sleep(pause, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        const connected = await connect()
        client = connected.client
        hangUp = connected.hangUp
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
        closing.signal.removeEventListener('abort', close)
        resolve(error)
      }
      const close = () => end()
      connection.once('error', end).once('end', close)
      closing.signal.addEventListener('abort', close)
    })
  }

  return {
    async close() {
      closing.abort()
      await supervised
      await hangUp()
    },
  }
}
