import { createClient } from '@redis/client'
import type { Logger } from '../context.ts'

/** A connection to Redis that comes back by itself. */
export interface RedisConnection {
  readonly client: object
  close(): void
}

/**
 * Connects to Redis, beside everything else: nothing waits for it, and what it is asked while it is away fails at once.
 *
 * @param url `redis://host:port/database`
 */
export function connectToRedis(url: string, log: Logger): RedisConnection {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandOptions: { timeout: 500 },
    socket: { connectTimeout: 2_000, reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000) },
  })
  let isAway = false
  // One line when it goes and one when it is back, not one for each try.
  client.on('error', (error: unknown) => {
    if (!isAway) log.warn({ err: error }, 'Redis is away')
    isAway = true
  })
  client.on('ready', () => {
    if (isAway) log.warn({}, 'Redis is back')
    isAway = false
  })
  client.connect().catch(() => undefined)
  return { client, close: () => client.destroy() }
}
