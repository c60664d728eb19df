import { GatewayError, withHeaders } from '../../errors.ts'
import { type Budget, budgetHeaders, type RateLimit, tooExpensive } from '../../limits/rate-limit.ts'
import type { OperationRequest } from './execute-request.ts'

const maxCost = 20_000

/** The cost of an operation so far. */
export interface Admission {
  /** The points that were taken from the key's budget. */
  readonly cost: number
  /** The rest of the key's budget; undefined if keys are not limited. */
  readonly budget: Budget | undefined
  readonly headers: Readonly<Record<string, string>>
}

export type Admissions = ReturnType<typeof createAdmissions>

/** The points of a text: one per KiB. Shorter texts cost nothing. */
export function pointsOfLength(length: number): number {
  return Math.floor(length / 1_024)
}

/** Creates what takes the costs of operations from the budgets of keys. */
export function createAdmissions(rateLimit: RateLimit) {
  return {
    /**
     * Takes the cost of an operation before any resolver runs: the points of its nodes, or those of its body if it is longer.
     *
     * @throws GatewayError TOO_EXPENSIVE or RATE_LIMITED, with the cost, the maximum, and the headers of the response
     */
    async admit({ operation, variables, context, bodyLength }: OperationRequest): Promise<Admission> {
      const cost = Math.max(operation.costOf(variables), pointsOfLength(bodyLength))
      try {
        if (cost > maxCost) throw tooExpensive(cost, maxCost)
        return admission(cost, await rateLimit.spend(context.viewer, cost))
      } catch (error) {
        throw error instanceof GatewayError ? withHeaders(error, { 'x-cost': String(cost) }) : error
      }
    },
    /**
     * Takes more points of an admitted operation, because its response is longer than its nodes pay for.
     *
     * @param cost what the operation costs in all. If it has paid as much, nothing is taken
     */
    async raise({ context }: OperationRequest, paid: Admission, cost: number): Promise<Admission> {
      if (cost <= paid.cost) return paid
      return admission(cost, await rateLimit.charge(context.viewer, cost - paid.cost))
    },
  }
}

function admission(cost: number, budget: Budget | undefined): Admission {
  return { cost, budget, headers: { 'x-cost': String(cost), ...(budget && budgetHeaders(budget)) } }
}
