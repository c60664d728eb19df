import { GatewayError } from '../errors.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { nameOfUser, type Payer } from './concurrency-limit.ts'
import { createMemoryCounter, createRedisCounter, type PointCounter } from './point-counter.ts'
import type { RedisConnection } from './redis.ts'

/** The budget of a key in the current minute. */
export interface Budget {
  /** Points per minute. */
  readonly points: number
  readonly remaining: number
  /** The time until the minute ends, in whole seconds. */
  readonly resetSeconds: number
}

/** Takes points of a key, and of a user to whom a token of the key is bound. Returns what is left; undefined if keys are not limited. */
type Pay = (payer: Payer, points: number) => Promise<Budget | undefined>

/** Limits how many points a key, and a user to whom a token of the key is bound, can spend in a minute. */
export interface RateLimit {
  /**
   * Takes nothing from the key if there are not enough points. With 0 points it only rejects a key whose budget is
   * overdrawn.
   *
   * @throws GatewayError RATE_LIMITED if there are not enough points; TOO_EXPENSIVE if there can never be enough
   */
  readonly spend: Pay
  /** Takes points for work that is done, even if the key does not have enough. Then it has none left until the minute ends. */
  readonly charge: Pay
}

export const unlimited: RateLimit = { spend: async () => undefined, charge: async () => undefined }

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
 * @param points points per key and minute; 0 for no limit
 */
export function createRateLimit(
  points: number,
  { log, pointsPerUser = 0, redis, processes = 1, metrics = createMetrics() }: RateLimitOptions,
): RateLimit {
  let isAlone = false

  function createBudgets(pointsPerMinute: number, payer: 'key' | 'user') {
    const share = Math.ceil(pointsPerMinute / processes)
    const own = createMemoryCounter(share)
    const shared = redis && createRedisCounter(pointsPerMinute, redis)
    const maximum = shared ? pointsPerMinute : share

    async function take(...args: Parameters<PointCounter>): ReturnType<PointCounter> {
      if (!shared) return own(...args)
      try {
        const taken = await shared(...args)
        isAlone = false
        metrics.rateLimitIsAlone.set(0)
        return taken
      } catch (error) {
        if (!isAlone)
          log.warn({ err: error }, 'Redis does not answer: this process counts the points of keys by itself')
        isAlone = true
        metrics.rateLimitIsAlone.set(1)
        return own(...args)
      }
    }

    const budgetOf = ({ points, spent, resetMilliseconds }: Awaited<ReturnType<PointCounter>>): Budget => ({
      points,
      remaining: Math.max(0, points - spent),
      resetSeconds: Math.max(1, Math.ceil(resetMilliseconds / 1_000)),
    })

    return {
      async spend(name: string, cost: number): Promise<Budget> {
        if (cost > maximum) throw tooExpensive(cost, maximum)
        const taken = await take(name, cost)
        const budget = budgetOf(taken)
        if (taken.isTaken) return budget
        metrics.requestsRateLimited.inc()
        throw new RateLimited(budget, cost, payer)
      },
      charge: async (name: string, cost: number): Promise<Budget> => budgetOf(await take(name, cost, true)),
    }
  }

  const ofKeys = points === 0 ? undefined : createBudgets(points, 'key')
  const ofUsers = pointsPerUser === 0 ? undefined : createBudgets(pointsPerUser, 'user')
  if (!ofKeys && !ofUsers) return unlimited

  const pay =
    (kind: keyof RateLimit): Pay =>
    async (payer, cost) => {
      const user = nameOfUser(payer)
      const ofUser = user === undefined ? undefined : await ofUsers?.[kind](user, cost)
      const ofKey = await ofKeys?.[kind](payer.keyId, cost)
      return ofUser && !(ofKey && ofKey.remaining < ofUser.remaining) ? ofUser : ofKey
    }
  return { spend: pay('spend'), charge: pay('charge') }
}

/** The rejection of an operation that costs more than is ever allowed. */
export function tooExpensive(cost: number, maximum: number): GatewayError {
  const message = `The operation may cost ${cost} points. At most ${maximum} are allowed.`
  return new GatewayError('TOO_EXPENSIVE', message, { details: { cost, maximum } })
}

/** The rejection of an operation whose key has too few points left. */
class RateLimited extends GatewayError {
  constructor(budget: Budget, cost: number, payer: 'key' | 'user') {
    const { points: maximum, remaining } = budget
    const message =
      cost > 0
        ? `The operation costs more points (${cost}) than the ${payer} has left in this minute (${remaining}).`
        : `The ${payer} has no points left in this minute.`
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
