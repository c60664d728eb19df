import { LRUCache } from 'lru-cache'
import type { RedisConnection } from './redis.ts'

/** The result of an attempt to take points. */
interface Taken {
  /** False if the key had too few points. None were taken then. */
  readonly isTaken: boolean
  /** The points of a window. */
  readonly points: number
  /** The points that the key has spent in this window. */
  readonly spent: number
  readonly resetMilliseconds: number
}

/**
 * Takes points of a key if it has enough left in its window. Checking and taking are one step, so that rejected requests never
 * change the budget of others, and two gateways never both take the last points.
 *
 * @param name the id of the key, or the name of a user (`nameOfUser`)
 * @param isDone whether the work is done already. Its points are taken even if the key has too few
 */
export type PointCounter = (name: string, cost: number, isDone?: boolean) => Promise<Taken>

const windowMilliseconds = 60_000

/** How many keys a process counts at most. */
const maxKeys = 100_000

export function createMemoryCounter(points: number, now: () => number = () => performance.now()): PointCounter {
  const windows = new LRUCache<string, { spent: number; readonly endsAt: number }>({ max: maxKeys })
  return async (name, cost, isDone = false) => {
    const open = windows.get(name)
    const window = open && now() < open.endsAt ? open : { spent: 0, endsAt: now() + windowMilliseconds }
    const isTaken = isDone || window.spent + cost <= points
    if (isTaken) {
      window.spent += cost
      windows.set(name, window)
    }
    return { isTaken, points, spent: window.spent, resetMilliseconds: window.endsAt - now() }
  }
}

// Redis runs a script as one step.
const script = `
  local spent = tonumber(redis.call('GET', KEYS[1]) or '0')
  local cost = tonumber(ARGV[1])
  local isTaken = ARGV[4] == 'true' or spent + cost <= tonumber(ARGV[2])
  if isTaken then
    spent = redis.call('INCRBY', KEYS[1], cost)
    if spent == cost then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  end
  return { isTaken and 1 or 0, spent, redis.call('PTTL', KEYS[1]) }`

/**
 * Creates a counter that gateways share.
 *
 * @throws Error, from the counter, if Redis does not answer
 */
export function createRedisCounter(points: number, redis: RedisConnection): PointCounter {
  return async (name, cost, isDone = false) => {
    const args = [cost, points, windowMilliseconds, isDone].map(String)
    const [isTaken, spent, resetMilliseconds] = await redis.runScript(script, `fusion-gateway:rate:${name}`, args)
    return { isTaken: isTaken === 1, points, spent: Number(spent), resetMilliseconds: Number(resetMilliseconds) }
  }
}
