import type { Context } from '../../context.ts'
import { GatewayError, withHeaders } from '../../errors.ts'
import { type Budget, budgetHeaders, type RateLimit, tooExpensive } from '../../limits/rate-limit.ts'
import { type Caller, type Client, invalidOperation, type UsageCounter } from '../../telemetry/usage.ts'
import type { OperationRequest } from './execute.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

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
    /** Takes points for work that is done, even if there are too few. */
    charge: (request: OperationRequest, points: number) => take('charge', request, points),
    /**
     * Takes the cost of an operation before any resolver runs: the points of its nodes, or those of its body if it is
     * longer.
     *
     * @throws GatewayError TOO_EXPENSIVE, which names the costliest fields, or RATE_LIMITED, with the cost, the
     *   maximum, and the headers of the response
     */
    async admit(request: OperationRequest): Promise<Admission> {
      const { operation, variables, bodyLength, precondition } = request
      const ofFields = operation.costOf(variables) + (precondition?.cost ?? 0)
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

/** The points of a text: one per KiB. Shorter texts cost nothing. */
export function pointsOfLength(length: number): number {
  return Math.floor(length / 1_024)
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

/** The longest response of a query, and the longest event of a subscription, in characters. */
export const maxResponseLength = 8 * 1024 * 1024

/** Responses from this length on, in characters, count as unread until the client has received them. */
export const longResponse = 256 * 1024

export const mebibyte = 1024 * 1024

/** The approximate length in a response of a value that is not a text, such as a number, or of the name of a field. */
const otherLength = 8

/**
 * Returns the approximate length of a response as JSON, in characters.
 *
 * @param max where it stops counting, because longer responses are rejected
 */
export function lengthOf(response: unknown, max = maxResponseLength): number {
  let length = 0

  function add(value: unknown): void {
    if (length > max) return
    length += typeof value === 'string' ? value.length : otherLength
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) for (const item of value) add(item)
    else for (const key in value) add((value as Record<string, unknown>)[key])
  }

  add(response)
  return length
}

/** @throws GatewayError TOO_EXPENSIVE if a response of this length would be too long */
export function requireResponseLength(length: number): void {
  if (length <= maxResponseLength) return
  throw new GatewayError('TOO_EXPENSIVE', 'The response would be longer than 8 MiB. Request fewer rows or fields.', {
    limit: 'response_length',
  })
}

interface RecordedRequest {
  readonly operation: PreparedOperation
  readonly context: Pick<Context, 'viewer' | 'client'>
}

type UsageRecorder = ReturnType<typeof createUsageRecorder>

/** Returns the recorder of the operations of both APIs: who requested what, how long it took, and whether it failed. */
export function createUsageRecorder(counts: UsageCounter) {
  const callerOf = ({ operation, context: { viewer, client } }: RecordedRequest): Caller => ({
    viewer,
    client,
    operation: operation.summary,
  })

  return {
    /**
     * Counts a request when its work has ended.
     *
     * @param hasErrors whether the result of the work has errors
     */
    async record<Result>(
      request: RecordedRequest,
      work: () => Promise<Result>,
      hasErrors: (result: Result) => boolean,
    ): Promise<Result> {
      const startedAt = performance.now()
      let hasFailed = true
      try {
        const result = await work()
        hasFailed = hasErrors(result)
        return result
      } finally {
        counts.count(callerOf(request), performance.now() - startedAt, hasFailed)
      }
    },

    /** Counts a request whose document is not valid. */
    recordInvalid(viewer: Context['viewer'], client: Client | undefined, milliseconds: number): void {
      counts.count({ viewer, client, operation: invalidOperation }, milliseconds, true)
    },

    addPoints(request: RecordedRequest, points: number): void {
      counts.addPoints(callerOf(request), points)
    },
  }
}
