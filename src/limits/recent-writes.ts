import type { RedisConnection } from './redis.ts'

/** Which keys have written a moment ago: what they read must show it. */
export interface RecentWrites {
  /** Notes that a key writes now. */
  note(keyId: string): Promise<void>
  has(keyId: string): Promise<boolean>
}

/** How many keys are remembered at most. */
const maxKeys = 100_000

const prefix = 'fusion-gateway:wrote:'

/**
 * Remembers who has written for so long.
 *
 * @param redis where gateways remember together; each for itself when there is none, and while it is away
 */
export function createRecentWrites(milliseconds: number, redis?: RedisConnection): RecentWrites {
  /** When each key has written last. The oldest comes first. */
  const written = new Map<string, number>()

  return {
    async note(keyId) {
      written.delete(keyId)
      if (written.size >= maxKeys) written.delete(written.keys().next().value ?? '')
      written.set(keyId, performance.now())
      await redis?.remember(prefix + keyId, milliseconds)
    },
    async has(keyId) {
      if (performance.now() - (written.get(keyId) ?? Number.NEGATIVE_INFINITY) < milliseconds) return true
      return (await redis?.remembers(prefix + keyId)) ?? false
    },
  }
}
