import { createClient } from '@redis/client'
import type { Logger } from '../context.ts'
import { GatewayError } from '../errors.ts'

/** How long Redis may take to answer. */
const answerMilliseconds = 500

/** How long it is left alone after it has not answered: each try may cost a request as long as an answer may take. */
const pauseMilliseconds = 1_000

/** A connection to Redis that comes back by itself. */
export interface RedisConnection {
  readonly client: object
  /**
   * Asks Redis for something.
   *
   * @throws what the work throws; and an Error when Redis is away, silent, or left alone since it was
   */
  ask<Result>(work: () => Promise<Result>): Promise<Result>
  /** Keeps a key for so long. Never rejects: while Redis is away, nothing is kept. */
  remember(key: string, milliseconds: number): Promise<void>
  /** Whether a key is kept; no while Redis is away. */
  remembers(key: string): Promise<boolean>
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
    // A connection on which nobody answers any more is made anew.
    pingInterval: 2_000,
    socket: {
      connectTimeout: 2_000,
      socketTimeout: 6_000,
      reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
    },
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
  let askAgainAt = 0

  async function ask<Result>(work: () => Promise<Result>): Promise<Result> {
    if (performance.now() < askAgainAt) throw new Error('Redis did not answer a moment ago')
    const { promise: late, reject } = Promise.withResolvers<never>()
    // The client's own timeouts are of what it has not sent yet; a server that hangs has been sent everything.
    const timer = setTimeout(() => reject(new Error('Redis does not answer')), answerMilliseconds)
    try {
      return await Promise.race([work(), late])
    } catch (error) {
      if (!(error instanceof GatewayError)) askAgainAt = performance.now() + pauseMilliseconds
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    client,
    ask,
    async remember(key, milliseconds) {
      await ask(() => client.set(key, '1', { expiration: { type: 'PX', value: milliseconds } })).catch(() => undefined)
    },
    async remembers(key) {
      return (await ask(() => client.exists(key)).catch(() => 0)) > 0
    },
    close: () => client.destroy(),
  }
}
