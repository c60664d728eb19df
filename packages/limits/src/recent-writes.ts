import { LRUCache } from 'lru-cache'
import type { RedisConnection } from './redis.ts'

export type RecentWrites = ReturnType<typeof createRecentWrites>

const maxKeys = 100_000

const prefix = 'fusion-gateway:wrote:'

/**
 * Remembers which keys have written recently. Their reads must see what they wrote.
 *
 * @param milliseconds how long a write is recent
 * @param redis shared by all processes. Without it, and while it does not answer, each process remembers its own writes
 */
export function createRecentWrites(milliseconds: number, redis?: RedisConnection) {
  const written = new LRUCache<string, true>({ max: maxKeys, ttl: milliseconds, ttlResolution: 0 })
  return {
    async note(keyId: string): Promise<void> {
      written.set(keyId, true)
      await redis?.remember(prefix + keyId, milliseconds)
    },
    async has(keyId: string): Promise<boolean> {
      return written.has(keyId) || ((await redis?.remembers(prefix + keyId)) ?? false)
    },
  }
}
