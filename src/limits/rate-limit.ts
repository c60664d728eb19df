import { GatewayError } from '../errors.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createMemoryCounter, createRedisCounter, type PointCounter } from './point-counter.ts'
import type { RedisConnection } from './redis.ts'

/** The budget of a key in the present minute. */
export interface Budget {
  /** Points per minute. */
  readonly points: number
  readonly remaining: number
  /** The time until the minute ends, in whole seconds. */
  readonly resetSeconds: number
}

/** Limits how many points a key can spend in a minute. */
export interface RateLimit {
  /**
   * Takes points from a key's budget. Takes nothing if there are not enough.
   *
   * @param points 0 asks whether the key owes points for work that is done
   * @returns what is left; undefined if keys are not limited
   * @throws GatewayError RATE_LIMITED if there are not enough points; TOO_EXPENSIVE if there can never be enough
   */
  spend(keyId: string, points: number): Promise<Budget | undefined>
  /**
   * Takes points for work that is done, even if the key does not have enough. Then it has none left until the minute ends.
   *
   * @returns what is left; undefined if keys are not limited
   */
  charge(keyId: string, points: number): Promise<Budget | undefined>
}

/** No key is limited. */
export const unlimited: RateLimit = { spend: async () => undefined, charge: async () => undefined }

/**
 * Creates the rate limit.
 *
 * @param points points per key and minute; 0 for no limit
 * @param redis where gateways count together. Each counts by itself if there is none, and while it does not answer
 */
export function createRateLimit(
  points: number,
  log: Logger,
  redis?: RedisConnection,
  metrics: Metrics = createMetrics(),
): RateLimit {
  if (points === 0) return unlimited
  const own = createMemoryCounter(points)
  const shared = redis && createRedisCounter(points, redis)
  let isAlone = false

  async function take(...args: Parameters<PointCounter>): ReturnType<PointCounter> {
    if (!shared) return own(...args)
    try {
      const taken = await shared(...args)
      isAlone = false
      metrics.rateLimitIsAlone.set(0)
      return taken
    } catch (error) {
      if (!isAlone) log.warn({ err: error }, 'Redis does not answer: this process counts the points of keys by itself')
      isAlone = true
      metrics.rateLimitIsAlone.set(1)
      return own(...args)
    }
  }

  const budgetOf = ({ spent, resetMilliseconds }: Awaited<ReturnType<PointCounter>>): Budget => ({
    points,
    remaining: Math.max(0, points - spent),
    resetSeconds: Math.max(1, Math.ceil(resetMilliseconds / 1_000)),
  })

  return {
    async spend(keyId, cost) {
      if (cost > points) throw tooExpensive(cost, points)
      const taken = await take(keyId, cost)
      const budget = budgetOf(taken)
      if (taken.isTaken) return budget
      metrics.requestsRateLimited.inc()
      throw new RateLimited(budget, cost)
    },
    charge: async (keyId, cost) => budgetOf(await take(keyId, cost, true)),
  }
}

/** The rejection of an operation that costs more than is ever allowed. */
export function tooExpensive(cost: number, maximum: number): GatewayError {
  const message = `The operation may cost ${cost} points. At most ${maximum} are allowed.`
  return new GatewayError('TOO_EXPENSIVE', message, { details: { cost, maximum } })
}

/** The rejection of an operation whose key has too few points left. */
class RateLimited extends GatewayError {
  constructor(budget: Budget, cost: number) {
    const { points: maximum, remaining } = budget
    const message =
      cost > 0
        ? `The operation costs more points (${cost}) than the key has left in this minute (${remaining}).`
        : 'The key has no points left in this minute.'
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
