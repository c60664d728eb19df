import { GatewayError, withHeaders } from '../../errors.ts'
import { type Budget, budgetHeaders, type RateLimit, tooExpensive } from '../../limits/rate-limit.ts'
import type { OperationRequest } from './execute.ts'
import type { UsageRecorder } from './record-usage.ts'

const maxCost = 20_000

/** The cost of an operation so far. */
export interface Admission {
  /** The points that were taken. */
  readonly cost: number
  /** The budget with least left; undefined if none is limited. */
  readonly budget: Budget | undefined
  readonly headers: Readonly<Record<string, string>>
}

export type Admissions = ReturnType<typeof createAdmissions>

/** The points of a text: one per KiB. Shorter texts cost nothing. */
export function pointsOfLength(length: number): number {
  return Math.floor(length / 1_024)
}

/** Returns the functions that take the costs of operations from the budgets of keys. */
export function createAdmissions(rateLimit: RateLimit, usage: UsageRecorder) {
  /** Takes points from the budgets and counts them. */
  async function take(how: keyof RateLimit, request: OperationRequest, points: number): Promise<Budget | undefined> {
    const budget = await rateLimit[how](request.context.viewer, points)
    usage.addPoints(request, points)
    return budget
  }

  return {
    /**
     * Takes points for an event of a subscription.
     *
     * @throws GatewayError RATE_LIMITED
     */
    spend: (request: OperationRequest, points: number) => take('spend', request, points),
    /**
     * Takes the cost of an operation before any resolver runs: the points of its nodes, or those of its body if it is
     * longer.
     *
     * @throws GatewayError TOO_EXPENSIVE, which names the costliest fields, or RATE_LIMITED, with the cost, the
     *   maximum, and the headers of the response
     */
    async admit(request: OperationRequest): Promise<Admission> {
      const { operation, variables, bodyLength } = request
      const ofFields = operation.costOf(variables)
      const cost = Math.max(ofFields, pointsOfLength(bodyLength))
      try {
        if (cost > maxCost) throw tooExpensive(cost, maxCost)
        return admission(cost, await take('spend', request, cost))
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        const isOfFields = error.code === 'TOO_EXPENSIVE' && ofFields === cost
        const named = isOfFields ? withFields(error, operation.costliestFields(variables)) : error
        throw withHeaders(named, { 'x-cost': String(cost) })
      }
    },
    /**
     * Takes more points of an admitted operation, because its response is longer than its nodes pay for.
     *
     * @param cost what the operation costs in all. If it has paid as much, nothing is taken
     */
    async raise(request: OperationRequest, paid: Admission, cost: number): Promise<Admission> {
      if (cost <= paid.cost) return paid
      return admission(cost, await take('charge', request, cost - paid.cost))
    },
  }
}

/** The longest path that the error names whole. Of a longer one it has the end. */
const maxPathLength = 100

/** The rejection of an operation, with the fields that cost most. */
function withFields({ code, message, details, limit }: GatewayError, fields: readonly (readonly [string, number])[]) {
  const named = fields.slice(0, 3).map(([path, points]) => `${path.slice(-maxPathLength)} (${points})`)
  return new GatewayError(code, `${message} Most of its points come from: ${named.join(', ')}.`, { details, limit })
}

function admission(cost: number, budget: Budget | undefined): Admission {
  return { cost, budget, headers: { 'x-cost': String(cost), ...(budget && budgetHeaders(budget)) } }
}
