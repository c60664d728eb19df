import { LRUCache } from 'lru-cache'
import { createMemoryCounter, type PointCounter } from './point-counter.ts'
import type { SharedMemory } from './recent-writes.ts'

/** What the processes of one supervisor count and remember together. */
export interface SharedCounts extends SharedMemory {
  /** Takes points, as the counter of so many points per window does. */
  takePoints(pointsPerWindow: number, ...args: Parameters<PointCounter>): ReturnType<PointCounter>
}

const maxKeys = 100_000

/** Creates the counts in the memory of this process. */
export function createSharedCounts(): SharedCounts {
  const counters = new Map<number, PointCounter>()
  const remembered = new LRUCache<string, true>({ max: maxKeys, ttlResolution: 0 })

  function counterOf(points: number): PointCounter {
    const counter = counters.get(points) ?? createMemoryCounter(points)
    counters.set(points, counter)
    return counter
  }

  return {
    takePoints: (points, ...args) => counterOf(points)(...args),
    async remember(key, milliseconds) {
      remembered.set(key, true, { ttl: milliseconds })
    },
    remembers: async (key) => remembered.has(key),
  }
}
