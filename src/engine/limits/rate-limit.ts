import { LRUCache } from 'lru-cache'
import { GatewayError } from '../errors.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { delayRejection, type Payer, type SubjectKind, shares, subjectsOf } from './concurrency.ts'
import type { RedisConnection } from './redis.ts'

/** The budget of a subject in the current minute. */
export interface Budget {
  /** Points per minute. */
  readonly points: number
  readonly remaining: number
  /** The time until the minute ends, in whole seconds. */
  readonly resetSeconds: number
}

/** Takes points of all subjects of a payer. Returns the budget that has least left; undefined if none is limited. */
type Pay = (payer: Payer, points: number) => Promise<Budget | undefined>

/** Limits how many points a tenant, a key that has its own limit, and the users of tokens can spend in a minute. */
export interface RateLimit {
  /**
   * Takes nothing if a subject has too few points. With 0 points it only rejects a payer whose budget is overdrawn.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if there are not enough points; TOO_EXPENSIVE if there can never
   *   be enough
   */
  readonly spend: Pay
  /**
   * Takes points for work that is done, even if a subject does not have enough. Then it has none left until the minute
   * ends.
   */
  readonly charge: Pay
}

export const unlimited: RateLimit = { spend: async () => undefined, charge: async () => undefined }

/** The part of a tenant's points that all users of its tokens can spend together. The rest is for its own keys. */
const shareOfUsers = 3 / 4

interface RateLimitOptions {
  readonly log: Logger
  /** Points per user and minute, for tokens that are bound to a user; 0 for no limit per user. */
  readonly pointsPerUser?: number
  /** Counts the points of all gateways. Without it, and while it does not answer, each process counts by itself. */
  readonly redis?: RedisConnection | undefined
  /** How many processes this gateway has. A process that counts by itself has its share of the points. */
  readonly processes?: number
  readonly metrics?: Metrics
}

/**
 * Creates the rate limit.
 *
 * @param points points per tenant and minute; 0 for no limit
 */
export function createRateLimit(
  points: number,
  { log, pointsPerUser = 0, redis, processes = 1, metrics = createMetrics() }: RateLimitOptions,
): RateLimit {
  const own = createMemoryCounter()
  const shared = redis && createRedisCounter(redis)
  let isAlone = false

  const pointsOf: Readonly<Record<SubjectKind, (payer: Payer) => number | undefined>> = {
    tenant: () => points || undefined,
    users: () => (points === 0 ? undefined : Math.ceil(points * shareOfUsers)),
    user: () => pointsPerUser || undefined,
    key: ({ pointsPerMinute }) => pointsPerMinute,
  }

  /** The limited subjects of a payer, the widest first. */
  function limitsOf(payer: Payer): readonly SubjectLimit[] {
    return subjectsOf(payer).flatMap(({ kind, name }) => {
      const limit = pointsOf[kind](payer)
      return limit === undefined ? [] : [{ kind, name, points: limit }]
    })
  }

  /** The limit of a process that counts by itself. */
  const shareOf = (limit: SubjectLimit): SubjectLimit => ({ ...limit, points: Math.ceil(limit.points / processes) })

  async function take(limits: readonly SubjectLimit[], cost: number, isDone: boolean) {
    const takeAlone = () => takeFrom(own, limits.map(shareOf), cost, isDone)
    if (!shared) return takeAlone()
    try {
      const taken = await takeFrom(shared, limits, cost, isDone)
      isAlone = false
      metrics.rateLimitIsAlone.set(0)
      return taken
    } catch (error) {
      if (!isAlone) log.warn({ err: error }, 'Redis does not answer: this process counts points by itself')
      isAlone = true
      metrics.rateLimitIsAlone.set(1)
      return takeAlone()
    }
  }

  const pay =
    (isDone: boolean): Pay =>
    async (payer, cost) => {
      const limits = limitsOf(payer)
      if (limits.length === 0) {
        metrics.countPoints(payer.keyId, cost)
        return undefined
      }
      const maximum = Math.min(...(shared ? limits : limits.map(shareOf)).map((limit) => limit.points))
      if (!isDone && cost > maximum) throw tooExpensive(cost, maximum)
      const { isTaken, budgets } = await take(limits, cost, isDone)
      if (isTaken) metrics.countPoints(payer.keyId, cost)
      if (isTaken) return budgets.reduce((least, budget) => (budget.remaining < least.remaining ? budget : least))
      await delayRejection()
      throw new RateLimited(budgets.findLast(({ isShort }) => isShort) as SubjectBudget, cost)
    }
  return { spend: pay(false), charge: pay(true) }
}

interface SubjectLimit extends PointLimit {
  readonly kind: SubjectKind
}

interface SubjectBudget extends Budget {
  readonly kind: SubjectKind
  /** Whether it has too few points for what was to be taken. */
  readonly isShort: boolean
}

async function takeFrom(counter: PointCounter, limits: readonly SubjectLimit[], cost: number, isDone: boolean) {
  const { isTaken, spent: all } = await counter(limits, cost, isDone)
  const budgets = limits.map(({ kind, points }, index): SubjectBudget => {
    const { spent, resetMilliseconds } = all[index] as Spent
    const remaining = Math.max(0, points - spent)
    const resetSeconds = Math.max(1, Math.ceil(resetMilliseconds / 1_000))
    return { kind, points, remaining, resetSeconds, isShort: spent + cost > points }
  })
  return { isTaken, budgets }
}

/** The rejection of an operation that costs more than is ever allowed. */
export function tooExpensive(cost: number, maximum: number): GatewayError {
  const message = `The operation may cost ${cost} points. At most ${maximum} are allowed.`
  return new GatewayError('TOO_EXPENSIVE', message, { limit: 'operation_cost', details: { cost, maximum } })
}

/** The rejection of an operation of a payer with too few points left. */
class RateLimited extends GatewayError {
  constructor(budget: SubjectBudget, cost: number) {
    const { points: maximum, remaining } = budget
    const { owner } = shares[budget.kind]
    const message =
      cost > 0
        ? `The operation costs more points (${cost}) than ${owner.toLowerCase()} left in this minute (${remaining}).`
        : `${owner} no points left in this minute.`
    super('RATE_LIMITED', message, {
      limit: 'points',
      details: { cost, maximum, remaining },
      headers: { ...budgetHeaders(budget), 'retry-after': String(budget.resetSeconds) },
    })
  }
}

/**
 * The headers that tell a client its budget. @see
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function budgetHeaders({ points, remaining, resetSeconds }: Budget): Record<string, string> {
  return {
    'ratelimit-policy': `"points";q=${points};w=60`,
    ratelimit: `"points";r=${remaining};t=${resetSeconds}`,
  }
}

/** How many points a subject has in a window. */
interface PointLimit {
  /** The name of the subject (`subjectsOf`). */
  readonly name: string
  readonly points: number
}

/** What a limit has spent in its window. */
interface Spent {
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
type PointCounter = (limits: readonly PointLimit[], cost: number, isDone?: boolean) => Promise<Taken>

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
function createRedisCounter(redis: RedisConnection): PointCounter {
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
