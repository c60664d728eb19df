import { LRUCache } from 'lru-cache'
import type { RedisConnection } from './redis.ts'

/** Remembers which keys have written recently. Their reads must see what they wrote. */
export interface RecentWrites {
  /** Remembers that a key has written now. */
  note(keyId: string): Promise<void>
  has(keyId: string): Promise<boolean>
}

const maxKeys = 100_000

const prefix = 'fusion-gateway:wrote:'

/**
 * Creates the memory of recent writes.
 *
 * @param milliseconds how long a write is recent
 * @param redis where processes remember together. Each remembers by itself if there is none, and while it does not answer
 */
export function createRecentWrites(milliseconds: number, redis?: RedisConnection): RecentWrites {
  const written = new LRUCache<string, true>({ max: maxKeys, ttl: milliseconds, ttlResolution: 0 })
  return {
    async note(keyId) {
      written.set(keyId, true)
      await redis?.remember(prefix + keyId, milliseconds)
    },
    async has(keyId) {
      return written.has(keyId) || ((await redis?.remembers(prefix + keyId)) ?? false)
    },
  }
}
