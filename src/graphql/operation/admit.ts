import type { Viewer } from '../../auth/viewer.ts'
import { GatewayError, withHeaders } from '../../errors.ts'
import { type Budget, type RateLimit, RateLimited, tooExpensive } from '../../limits/rate-limit.ts'
import type { Values } from './prepare/coerce-variables.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

/** The most points that an operation may cost. */
const maxPrice = 20_000

/** An admitted operation. */
export interface Admission {
  /** The points that were taken from the key's budget. */
  readonly price: number
  /** The rest of the key's budget; undefined if keys are not limited. */
  readonly budget: Budget | undefined
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>
}

/** Takes the price of an operation from the budget of a key, before any resolver runs. */
export type Admit = (viewer: Viewer, operation: PreparedOperation, variables: Values) => Promise<Admission>

/**
 * Creates the admission of operations.
 *
 * @throws GatewayError TOO_EXPENSIVE or RATE_LIMITED, with the price, the maximum, and the headers of the answer
 */
export function createAdmission(rateLimit: RateLimit): Admit {
  return async ({ keyId }, operation, variables) => {
    const price = operation.priceOf(variables)
    const cost = { 'x-cost': String(price) }
    try {
      if (price > maxPrice) throw tooExpensive(price, maxPrice)
      const budget = await rateLimit.spend(keyId, price)
      return { price, budget, headers: { ...cost, ...(budget && budgetHeaders(budget)) } }
    } catch (error) {
      throw error instanceof GatewayError ? withHeaders(error, { ...cost, ...retryHeaders(error) }) : error
    }
  }
}

function retryHeaders(error: GatewayError): Record<string, string> {
  if (!(error instanceof RateLimited)) return {}
  return { ...budgetHeaders(error.budget), 'retry-after': String(error.budget.resetSeconds) }
}

/** @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
function budgetHeaders({ points, remaining, resetSeconds }: Budget): Record<string, string> {
  return {
    'ratelimit-policy': `"points";q=${points};w=60`,
    ratelimit: `"points";r=${remaining};t=${resetSeconds}`,
  }
}
