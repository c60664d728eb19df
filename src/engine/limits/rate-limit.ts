import { GatewayError } from '../errors.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { delayRejection } from './concurrency-limit.ts'
import { type AccountKind, accountsOf, type Payer } from './payer.ts'
import { createMemoryCounter, createRedisCounter, type PointCounter, type Purse, type Spent } from './point-counter.ts'
import type { RedisConnection } from './redis.ts'

/** The budget of an account in the current minute. */
export interface Budget {
  /** Points per minute. */
  readonly points: number
  readonly remaining: number
  /** The time until the minute ends, in whole seconds. */
  readonly resetSeconds: number
}

/** Takes points of all accounts of a payer. Returns the budget that has least left; undefined if none is limited. */
type Pay = (payer: Payer, points: number) => Promise<Budget | undefined>

/** Limits how many points a tenant, a key that has its own limit, and the users of tokens can spend in a minute. */
export interface RateLimit {
  /**
   * Takes nothing if an account has too few points. With 0 points it only rejects a payer whose budget is overdrawn.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if there are not enough points; TOO_EXPENSIVE if there can never be enough
   */
  readonly spend: Pay
  /** Takes points for work that is done, even if an account does not have enough. Then it has none left until the minute ends. */
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

  const pointsOf: Readonly<Record<AccountKind, (payer: Payer) => number | undefined>> = {
    tenant: () => points || undefined,
    users: () => (points === 0 ? undefined : Math.ceil(points * shareOfUsers)),
    user: () => pointsPerUser || undefined,
    key: ({ pointsPerMinute }) => pointsPerMinute,
  }

  /** The limited accounts of a payer, the widest first. */
  function pursesOf(payer: Payer): readonly AccountPurse[] {
    return accountsOf(payer).flatMap(({ kind, name }) => {
      const limit = pointsOf[kind](payer)
      return limit === undefined ? [] : [{ kind, name, points: limit }]
    })
  }

  /** The purse of a process that counts by itself. */
  const shareOf = (purse: AccountPurse): AccountPurse => ({ ...purse, points: Math.ceil(purse.points / processes) })

  async function take(purses: readonly AccountPurse[], cost: number, isDone: boolean) {
    const takeAlone = () => takeFrom(own, purses.map(shareOf), cost, isDone)
    if (!shared) return takeAlone()
    try {
      const taken = await takeFrom(shared, purses, cost, isDone)
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
      const purses = pursesOf(payer)
      if (purses.length === 0) {
        metrics.countPoints(payer.keyId, cost)
        return undefined
      }
      const maximum = Math.min(...(shared ? purses : purses.map(shareOf)).map((purse) => purse.points))
      if (!isDone && cost > maximum) throw tooExpensive(cost, maximum)
      const { isTaken, budgets } = await take(purses, cost, isDone)
      if (isTaken) metrics.countPoints(payer.keyId, cost)
      if (isTaken) return budgets.reduce((least, budget) => (budget.remaining < least.remaining ? budget : least))
      metrics.requestsRateLimited.inc()
      await delayRejection()
      throw new RateLimited(budgets.findLast(({ isShort }) => isShort) as AccountBudget, cost)
    }
  return { spend: pay(false), charge: pay(true) }
}

interface AccountPurse extends Purse {
  readonly kind: AccountKind
}

interface AccountBudget extends Budget {
  readonly kind: AccountKind
  /** Whether it has too few points for what was to be taken. */
  readonly isShort: boolean
}

async function takeFrom(counter: PointCounter, purses: readonly AccountPurse[], cost: number, isDone: boolean) {
  const { isTaken, spent: all } = await counter(purses, cost, isDone)
  const budgets = purses.map(({ kind, points }, index): AccountBudget => {
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
  return new GatewayError('TOO_EXPENSIVE', message, { details: { cost, maximum } })
}

/** Who has too few points, in the words of an error. */
const owners: Readonly<Record<AccountKind, string>> = {
  tenant: 'the tenant has',
  key: 'the key has',
  users: "the users of the tenant's tokens have",
  user: 'the user has',
}

/** The rejection of an operation of a payer with too few points left. */
class RateLimited extends GatewayError {
  constructor(budget: AccountBudget, cost: number) {
    const { points: maximum, remaining } = budget
    const owner = owners[budget.kind]
    const message =
      cost > 0
        ? `The operation costs more points (${cost}) than ${owner} left in this minute (${remaining}).`
        : `${owner[0]?.toUpperCase()}${owner.slice(1)} no points left in this minute.`
    super('RATE_LIMITED', message, {
      details: { cost, maximum, remaining },
      headers: { ...budgetHeaders(budget), 'retry-after': String(budget.resetSeconds) },
    })
  }
}

/** The headers that tell a client its budget. @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
export function budgetHeaders({ points, remaining, resetSeconds }: Budget): Record<string, string> {
  return {
    'ratelimit-policy': `"points";q=${points};w=60`,
    ratelimit: `"points";r=${remaining};t=${resetSeconds}`,
  }
}
