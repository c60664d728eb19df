import { LRUCache } from 'lru-cache'
import type { RedisConnection } from './redis.ts'

/** An account that pays, and how many points it has in a window. */
export interface Purse {
  /** The name of the account (`accountsOf`). */
  readonly name: string
  readonly points: number
}

/** What a purse has spent in its window. */
export interface Spent {
  readonly spent: number
  readonly resetMilliseconds: number
}

/** The result of an attempt to take points. */
interface Taken {
  /** False if a purse had too few points. None were taken then. */
  readonly isTaken: boolean
  /** Of each purse, in their order. */
  readonly spent: readonly Spent[]
}

/**
 * Takes points of every purse if all have enough left in their windows. Checking and taking are one step, so that rejected requests never
 * change the budget of others, and two gateways never both take the last points.
 *
 * @param isDone whether the work is done already. Its points are taken even if a purse has too few
 */
export type PointCounter = (purses: readonly Purse[], cost: number, isDone?: boolean) => Promise<Taken>

const windowMilliseconds = 60_000

/** How many purses a process counts at most. */
const maxPurses = 100_000

export function createMemoryCounter(now: () => number = () => performance.now()): PointCounter {
  const windows = new LRUCache<string, { spent: number; readonly endsAt: number }>({ max: maxPurses })

  function windowOf({ name }: Purse) {
    const open = windows.get(name)
    return open && now() < open.endsAt ? open : { spent: 0, endsAt: now() + windowMilliseconds }
  }

  return async (purses, cost, isDone = false) => {
    const open = purses.map((purse) => ({ ...purse, window: windowOf(purse) }))
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
  return async (purses, cost, isDone = false) => {
    const keys = purses.map(({ name }) => `fusion-gateway:rate:${name}`)
    const args = [cost, windowMilliseconds, isDone, ...purses.map(({ points }) => points)].map(String)
    const [isTaken, ...numbers] = await redis.runScript(script, keys, args)
    const spent = purses.map((_, index) => ({
      spent: Number(numbers[2 * index]),
      resetMilliseconds: Number(numbers[2 * index + 1]),
    }))
    return { isTaken: isTaken === 1, spent }
  }
}
