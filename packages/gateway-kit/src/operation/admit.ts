import { GatewayError, ownValue, withHeaders } from '@fusion-gateway/base'
import { type Budget, costHeaders, type RateLimit, type Reservation, tooExpensive } from '@fusion-gateway/limits'
import { type Caller, type Client, invalidOperation, type UsageCounter } from '@fusion-gateway/telemetry'
import type { ExecutionResult } from 'graphql'
import type { Context } from '../context.ts'
import type { OperationRequest } from './execute.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

const maxCost = 20_000

export type Admissions = ReturnType<typeof createAdmissions>

/** Returns the functions that take the costs of operations from the budgets of keys. */
export function createAdmissions(rateLimit: RateLimit, usage: UsageRecorder) {
  return {
    /**
     * Takes points for what the source of a subscription reads of the log.
     *
     * @throws GatewayError RATE_LIMITED
     */
    async spend(request: OperationRequest, points: number): Promise<Budget | undefined> {
      const budget = await rateLimit.spend(request.context.viewer, points)
      usage.addPoints(request, points)
      return budget
    },
    /**
     * Takes what an operation may cost before any resolver runs: the points of its nodes, or those of its body if it is
     * longer. The request holds them, and gives back what is not used.
     *
     * @throws GatewayError TOO_EXPENSIVE, which names the costliest fields, or RATE_LIMITED, with the cost, the
     *   maximum, and the headers of the response
     */
    async admit(request: OperationRequest): Promise<Reservation> {
      const { operation, variables, bodyLength, precondition, context, held } = request
      const ofFields = operation.costOf(variables) + (precondition?.cost ?? 0)
      const least = pointsOfLength(bodyLength)
      const cost = Math.max(ofFields, least)
      const onEnd = (spent: number) => usage.addPoints(request, spent)
      try {
        if (cost > maxCost) throw tooExpensive(cost, maxCost)
        const points = await rateLimit.reserve(context.viewer, { requested: cost, least, onEnd })
        held.holdPoints(points)
        return points
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        const isOfFields = error.code === 'TOO_EXPENSIVE' && ofFields === cost
        const named = isOfFields ? withFields(error, operation.costliestFields(variables)) : error
        throw withHeaders(named, costHeaders(cost, cost))
      }
    },
  }
}

/**
 * What an operation costs that ran: what its response has, and at least a point for each error. If the response does
 * not show what ran, because an error has removed it or a statement took too long, it is all that it may cost.
 */
export function usedPoints(request: OperationRequest, { data, errors = [] }: ExecutionResult): number {
  const { operation, variables, statements, precondition, held } = request
  const all = held.points?.requested ?? 0
  // Most operations of one row.
  if (all <= 1) return all
  const { selections } = operation.definition.selectionSet
  const isShown = ({ path, extensions: { code } }: (typeof errors)[number]) =>
    code !== 'TOO_EXPENSIVE' && code !== 'INTERNAL' && isInData(path, data, selections.length === 1)
  if (statements.hasTimedOut || !errors.every(isShown)) return all
  // Without data and a path, nothing ran: the variables were rejected.
  return (precondition?.cost ?? 0) + Math.max(operation.usedBy(variables, data), errors.length)
}

/** Whether an error has removed only its own field from the data. */
function isInData(path: readonly (string | number)[] | undefined, data: unknown, isOnlyField: boolean): boolean {
  if (path === undefined) return true
  let value = data
  for (const key of path) {
    if (value === null || value === undefined) return path.length === 1 && isOnlyField
    value = ownValue(value, String(key))
  }
  return true
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

/** The longest response of a query, and the longest event of a subscription, in characters. */
export const maxResponseLength = 8 * 1024 * 1024

/** Responses from this length on, in characters, count as unread until the client has received them. */
export const longResponse = 256 * 1024

export const mebibyte = 1024 * 1024

/** The approximate length in a response of a value that is not a text, such as a number, or of the name of a field. */
const otherLength = 8

/** The approximate length of a response as JSON, in characters. It stops counting beyond `max`. */
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

export type UsageRecorder = ReturnType<typeof createUsageRecorder>

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
