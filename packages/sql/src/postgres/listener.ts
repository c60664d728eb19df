import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '@fusion-gateway/base'
import type pg from 'pg'
import type { Listener, ListenerEvents } from '../driver.ts'
import { Client } from './client.ts'

/** A connection that only listens can break unnoticed. It sends a statement this often. */
const heartbeatMilliseconds = 10_000
const responseMilliseconds = 5_000
const minPauseMilliseconds = 100
const maxPauseMilliseconds = 5_000
const goodbyeMilliseconds = 1_000

/**
 * Listens to a notification channel on a separate connection, and connects again when that is lost.
 *
 * @param onError called when the connection is lost or cannot be opened
 * @throws if the first connection cannot be opened
 */
export async function listenOnPostgres(
  settings: pg.PoolConfig,
  channel: string,
  { onMessage, onGap }: ListenerEvents,
  onError: (error: Error) => void,
): Promise<Listener> {
  const closing = new AbortController()
  let { client, disconnect } = await connect()
  let isConnected = true
  let pause = minPauseMilliseconds
  const supervised = repeat(supervise, {
    signal: closing.signal,
    onError(error) {
      onError(error as Error)
      const milliseconds = pause
      pause = Math.min(pause * 2, maxPauseMilliseconds)
      return milliseconds
    },
  })

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
      await settings.onConnect?.(connection)
      await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`)
      return { client: connection, disconnect }
    } catch (error) {
      void disconnect()
      throw error
    }
  }

  /** Waits until the connection is lost, or connects again after a pause. Returns the next pause, in milliseconds. */
  async function supervise(): Promise<number> {
    if (isConnected) {
      const error = await untilLost(client)
      if (closing.signal.aborted) return 0
      isConnected = false
      void disconnect()
      throw error
    }
    ;({ client, disconnect } = await connect())
    isConnected = true
    pause = minPauseMilliseconds
    onGap()
    return 0
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
