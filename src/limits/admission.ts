import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DocumentNode } from 'graphql'
import { priceOf } from '../graphql/price.ts'
import { viewerOf } from '../http/request.ts'
import { type Budget, type RateLimit, RateLimited, tooExpensive } from './rate-limit.ts'

/** The most points that one operation may cost. */
const maxPrice = 20_000

/** An operation that was let in. */
export interface Admitted {
  /** Points that it may cost: so many were taken. */
  readonly price: number
  /** What the key has left in this minute; undefined when nothing limits it. */
  readonly budget: Budget | undefined
  /** Takes more points, for what comes later. Rejects when the key has not enough. */
  readonly spend: (points: number) => Promise<unknown>
}

/** An operation that wants to run. */
export interface Applicant {
  readonly document: DocumentNode
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

/**
 * Lets an operation of a valid document in before any of its resolvers runs, and says in the headers what it costs.
 *
 * @throws GatewayError TOO_EXPENSIVE, or RATE_LIMITED; with what it costs, and the key's own maximum
 */
export type Admit = (request: FastifyRequest, reply: FastifyReply, applicant: Applicant) => Promise<Admitted>

/** The same budget for both faces. */
export function createAdmission(rateLimit: RateLimit): Admit {
  return async (request, reply, { document, operationName, variables }) => {
    const { keyId } = viewerOf(request)
    const price = priceOf(document, operationName, variables ?? {})
    reply.header('x-cost', price)
    if (price > maxPrice) throw tooExpensive(price, maxPrice)
    try {
      const budget = await rateLimit.spend(keyId, price)
      if (budget) reply.headers(rateHeaders(budget))
      return { price, budget, spend: (points) => rateLimit.spend(keyId, points) }
    } catch (error) {
      if (error instanceof RateLimited) {
        reply.headers({ ...rateHeaders(error.budget), 'retry-after': error.budget.resetSeconds })
      }
      throw error
    }
  }
}

/** @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
function rateHeaders({ points, remaining, resetSeconds }: Budget): Record<string, string> {
  return {
    'ratelimit-policy': `"points";q=${points};w=60`,
    ratelimit: `"points";r=${remaining};t=${resetSeconds}`,
  }
}
