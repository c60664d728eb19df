import type { Logger } from '@fusion-gateway/telemetry'
import { createClient } from '@redis/client'

const responseMilliseconds = 500

/** The pause after Redis did not answer. Each attempt can delay a request by the time above. */
const pauseMilliseconds = 1_000

export type RedisConnection = ReturnType<typeof connectToRedis>

/** What a server says of a write that has become a replica, by itself or as the error of a script. */
const refusesWrites = /\bREADONLY\b/

/**
 * Connects to Redis in the background, and again when the connection is lost, or when the server has become a replica:
 * after a failover the address leads to another one. Nothing waits for the connection; while there is none, every call
 * fails at once.
 *
 * @param url `redis://host:port/database`
 */
export function connectToRedis(url: string, log: Logger) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    // Replaces a connection on which nothing answers.
    pingInterval: 2_000,
    socket: {
      connectTimeout: 2_000,
      socketTimeout: 6_000,
      reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
    },
  })
  let isConnected = true
  let isReplica = false
  // One line when the connection is lost and one when it is back, not one per attempt.
  client.on('error', (error: unknown) => {
    if (isConnected) log.warn({ err: error }, 'Redis is not reachable')
    isConnected = false
  })
  client.on('ready', () => {
    if (!isConnected && !isReplica) log.warn({}, 'Redis is reachable again')
    isConnected = true
  })
  client.connect().catch(() => undefined)
  let askAgainAt = 0

  /** Several calls can fail over one connection. */
  function connectAgain(error: unknown): void {
    if (!client.isReady) return
    if (!isReplica) log.warn({ err: error }, 'Redis is a replica: connecting again')
    isReplica = true
    client.destroy()
    client.connect().catch(() => undefined)
  }

  async function ask<Result>(work: () => Promise<Result>): Promise<Result> {
    if (performance.now() < askAgainAt) throw new Error('Redis did not answer a moment ago')
    const { promise: timeout, reject } = Promise.withResolvers<never>()
    // The client's own timeouts cover commands that it has not sent. A server that hangs has received them.
    const timer = setTimeout(() => reject(new Error('Redis does not answer')), responseMilliseconds)
    try {
      const result = await Promise.race([work(), timeout])
      if (isReplica) log.warn({}, 'Redis accepts writes again')
      isReplica = false
      return result
    } catch (error) {
      askAgainAt = performance.now() + pauseMilliseconds
      if (refusesWrites.test(String(error))) connectAgain(error)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    isReady: (): boolean => client.isReady,
    /** Runs a Lua script, whose keys are on one server. Rejects while Redis does not answer. */
    async runScript(script: string, keys: string[], args: string[]) {
      return (await ask(() => client.eval(script, { keys, arguments: args }))) as unknown[]
    },
    /** Stores a key for some time. Never rejects: if Redis does not answer, nothing is stored. */
    async remember(key: string, milliseconds: number): Promise<void> {
      await ask(() => client.set(key, '1', { expiration: { type: 'PX', value: milliseconds } })).catch(() => undefined)
    },
    /** Whether a key is stored. False if Redis does not answer. */
    async remembers(key: string): Promise<boolean> {
      return (await ask(() => client.exists(key)).catch(() => 0)) > 0
    },
    close: (): void => client.destroy(),
  }
}
