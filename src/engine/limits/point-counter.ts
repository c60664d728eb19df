import { LRUCache } from 'lru-cache'
import type { RedisConnection } from './redis.ts'

/** How many points a subject has in a window. */
export interface PointLimit {
  /** The name of the subject (`subjectsOf`). */
  readonly name: string
  readonly points: number
}

/** What a limit has spent in its window. */
export interface Spent {
  readonly spent: number
  readonly resetMilliseconds: number
}

/** The result of an attempt to take points. */
interface Taken {
  /** False if a limit had too few points. None were taken then. */
  readonly isTaken: boolean
  /** Of each limit, in their order. */
  readonly spent: readonly Spent[]
}

/**
 * Takes points of every limit if all have enough left in their windows. Checking and taking are one step, so that
 * rejected requests never change the budget of others, and two gateways never both take the last points.
 *
 * @param isDone whether the work is done already. Its points are taken even if a limit has too few
 */
export type PointCounter = (limits: readonly PointLimit[], cost: number, isDone?: boolean) => Promise<Taken>

const windowMilliseconds = 60_000

/** How many limits a process counts at most. */
const maxWindows = 100_000

export function createMemoryCounter(now: () => number = () => performance.now()): PointCounter {
  const windows = new LRUCache<string, { spent: number; readonly endsAt: number }>({ max: maxWindows })

  function windowOf({ name }: PointLimit) {
    const open = windows.get(name)
    return open && now() < open.endsAt ? open : { spent: 0, endsAt: now() + windowMilliseconds }
  }

  return async (limits, cost, isDone = false) => {
    const open = limits.map((limit) => ({ ...limit, window: windowOf(limit) }))
    const isTaken = isDone || open.every(({ points, window }) => window.spent + cost <= points)
    for (const { name, window } of isTaken ? open : []) {
      window.spent += cost
      windows.set(name, window)
    }
    const spent = open.map(({ window }) => ({ spent: window.spent, resetMilliseconds: window.endsAt - now() }))
    return { isTaken, spent }
  }
}

// Redis runs a script as one step.
const script = `
  local cost, isTaken, spent = tonumber(ARGV[1]), true, {}
  for index, key in ipairs(KEYS) do
    spent[index] = tonumber(redis.call('GET', key) or '0')
    if spent[index] + cost > tonumber(ARGV[index + 3]) then isTaken = ARGV[3] == 'true' end
  end
  local result = { isTaken and 1 or 0 }
  for index, key in ipairs(KEYS) do
    if isTaken then
      spent[index] = redis.call('INCRBY', key, cost)
      if spent[index] == cost then redis.call('PEXPIRE', key, ARGV[2]) end
    end
    table.insert(result, spent[index])
    table.insert(result, redis.call('PTTL', key))
  end
  return result`

/**
 * Creates a counter that gateways share.
 *
 * @throws Error, from the counter, if Redis does not answer
 */
export function createRedisCounter(redis: RedisConnection): PointCounter {
  return async (limits, cost, isDone = false) => {
    const keys = limits.map(({ name }) => `fusion-gateway:rate:${name}`)
    const args = [cost, windowMilliseconds, isDone, ...limits.map(({ points }) => points)].map(String)
    const [isTaken, ...numbers] = await redis.runScript(script, keys, args)
    const spent = limits.map((_, index) => ({
      spent: Number(numbers[2 * index]),
      resetMilliseconds: Number(numbers[2 * index + 1]),
    }))
    return { isTaken: isTaken === 1, spent }
  }
}
