import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Listener, ListenerEvents } from '../driver.ts'
import { Client } from './client.ts'

/** A connection that only listens can break unnoticed. It sends a statement this often. */
const heartbeatMilliseconds = 10_000
const responseMilliseconds = 5_000
const maxPauseMilliseconds = 5_000
const goodbyeMilliseconds = 1_000

/**
 * Listens to a notification channel on a separate connection, and connects again when that is lost.
 *
 * @param onError called when the connection is lost or cannot be opened
 * @throws if the first connection cannot be opened
 */
export async function listenOnPostgres(
  settings: pg.ClientConfig,
  channel: string,
  { onMessage, onGap }: ListenerEvents,
  onError: (error: Error) => void,
): Promise<Listener> {
  const closing = new AbortController()
  let { client, disconnect } = await connect()
  const supervised = supervise()

  async function connect() {
    const socket = new Socket()
    const connection = new Client({
      ...settings,
      keepAlive: true,
      query_timeout: responseMilliseconds,
      stream: () => socket,
    })
    // A server that hangs does not answer the goodbye.
    const disconnect = async () => {
      await Promise.race([
        connection.end().catch(() => undefined),
        sleep(goodbyeMilliseconds, undefined, { ref: false }),
      ])
      socket.destroy()
    }
    connection.on('error', () => undefined)
    connection.on('notification', ({ payload = '' }) => onMessage(payload))
    try {
      await connection.connect()
      await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`)
      return { client: connection, disconnect }
    } catch (error) {
      void disconnect()
      throw error
    }
  }

  async function supervise(): Promise<void> {
    while (!closing.signal.aborted) {
      const error = await untilLost(client)
      if (closing.signal.aborted) return
      onError(error)
      void disconnect()
      await reconnect()
    }
  }

  async function reconnect(): Promise<void> {
    for (let pause = 100; !closing.signal.aborted; pause = Math.min(pause * 2, maxPauseMilliseconds)) {
      await sleep(pause, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        const connected = await connect()
        client = connected.client
        disconnect = connected.disconnect
        onGap()
        return
      } catch (error) {
        onError(error as Error)
      }
    }
  }

  /** Resolves with the reason when the connection is lost, does not answer, or the listener is closed. */
  function untilLost(connection: Client): Promise<Error> {
    return new Promise((resolve) => {
      const heartbeat = setInterval(() => void connection.query('SELECT 1').catch(end), heartbeatMilliseconds).unref()
      function end(error: Error = new Error('The listening connection was closed')) {
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
      await disconnect()
    },
  }
}
