import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Logger } from '../context.ts'
import { GatewayError } from '../errors.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import type { RedisConnection } from './redis.ts'

/** What a key has of its budget for the minute that is running. */
export interface Budget {
  /** Points for a minute. */
  readonly points: number
  readonly remaining: number
  /** When the minute ends, in whole seconds from now. */
  readonly resetSeconds: number
}

/** How many points a key may spend in a minute. */
export interface RateLimit {
  /**
   * Takes points from a key's budget.
   *
   * @returns what is left; undefined when nothing limits the key
   * @throws GatewayError RATE_LIMITED when there is not enough
   */
  spend(keyId: string, points: number): Promise<Budget | undefined>
}

const windowSeconds = 60

/** Nothing is limited. */
export const unlimited: RateLimit = { spend: async () => undefined }

/**
 * Limits each key to so many points a minute.
 *
 * @param points for a minute; 0 for no limit
 * @param redis where gateways count together; each counts for itself when there is none, and while it is away
 */
export function createRateLimit(
  points: number,
  log: Logger,
  redis?: RedisConnection,
  metrics: Metrics = createMetrics(),
): RateLimit {
  if (points === 0) return unlimited
  const own = new RateLimiterMemory({ points, duration: windowSeconds })
  const limiter = redis
    ? new RateLimiterRedis({
        ...{ storeClient: redis.client, useRedisPackage: true, keyPrefix: 'fusion-gateway:rate' },
        ...{ points, duration: windowSeconds, rejectIfRedisNotReady: true },
      })
    : own

  let isAlone = false

  /** A key is limited all the same while Redis is away or does not answer: by what this process has seen. */
  async function withLimiter<Result>(work: (limiter: RateLimiterAbstract) => Promise<Result>): Promise<Result> {
    if (!redis) return work(own)
    try {
      const result = await redis.ask(() => work(limiter))
      isAlone = false
      metrics.rateLimitIsAlone.set(0)
      return result
    } catch (error) {
      if (error instanceof GatewayError) throw error
      if (!isAlone) log.warn({ err: error }, 'Redis does not answer: this process counts the points of keys alone')
      isAlone = true
      metrics.rateLimitIsAlone.set(1)
      return work(own)
    }
  }

  const budget = ({
    remainingPoints,
    msBeforeNext,
  }: Pick<RateLimiterRes, 'remainingPoints' | 'msBeforeNext'>): Budget => ({
    points,
    remaining: Math.max(0, remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1_000)),
  })

  /** Points are taken and then counted, so that two gateways cannot both take the last. What was too much is given back. */
  async function take(limiter: RateLimiterAbstract, keyId: string, cost: number): Promise<Budget> {
    try {
      return budget(await limiter.consume(keyId, cost))
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      await limiter.reward(keyId, cost)
      metrics.requestsRateLimited.inc()
      throw new RateLimited(
        budget({ msBeforeNext: error.msBeforeNext, remainingPoints: points - error.consumedPoints + cost }),
        cost,
      )
    }
  }

  return {
    async spend(keyId, cost) {
      if (cost > points) throw tooExpensive(cost, points)
      return withLimiter((limiter) => take(limiter, keyId, cost))
    },
  }
}

/** Refuses what costs more than is ever allowed. */
export function tooExpensive(cost: number, maximum: number): GatewayError {
  const message = `This may cost ${cost} points. At most ${maximum} are allowed.`
  return new GatewayError('TOO_EXPENSIVE', message, [], { details: { cost, maximum } })
}

/** A key has spent its points. */
export class RateLimited extends GatewayError {
  readonly budget: Budget

  constructor(budget: Budget, cost: number) {
    super(
      'RATE_LIMITED',
      `Points needed: ${cost}. Points that the key has left in this minute: ${budget.remaining}.`,
      [],
      {
        details: { cost, maximum: budget.points, remaining: budget.remaining },
      },
    )
    this.budget = budget
  }
}
