import type { Viewer } from '@fusion-gateway/auth'
import { delayRejection, type OperationLimits, type Reservation } from '@fusion-gateway/limits'
import { createSourceEventStream, type ExecutionResult } from 'graphql'
import type { SubscribedOperation } from '../context.ts'
import type { SubscriptionValues } from '../subscription-values.ts'
import { type Admissions, lengthOf, pointsOfLength, requireResponseLength, usedPoints } from './admit.ts'
import { executeOperation, executionArgs } from './execute.ts'
import { type SentResult, type SubscriptionRequest, sendEach, shown } from './send-each.ts'

/** The events of a subscription, or a single result if it is rejected; and headers of the response. */
export interface SubscriptionResponse {
  /** They return when the subscription has ended, and throw an `Interruption` if it breaks off. */
  readonly events: ExecutionResult | AsyncIterable<ExecutionResult>
  readonly headers: Readonly<Record<string, string>>
}

export type Subscribe = (request: SubscriptionRequest) => Promise<SubscriptionResponse>

interface SubscribeOptions {
  readonly admissions: Admissions
  readonly limits: OperationLimits
}

/**
 * Creates `subscribe`. Each event takes what it may cost from the budgets before it is executed, and gives back what it
 * did not use. When no points are left, the subscription sends the error and ends. A rejection is sent after a second.
 *
 * @throws GatewayError TOO_EXPENSIVE, RATE_LIMITED
 * @throws Interruption if the gateway or the database cannot start it now
 */
export function createSubscribe({ admissions, limits }: SubscribeOptions): Subscribe {
  const { subscriptions, unsent, rejectionMilliseconds } = limits

  return async (request) => {
    const release = await subscriptions.take(request.context.viewer)
    const response = await start(request, release).catch((error: unknown) => {
      release()
      throw error
    })
    if (!(Symbol.asyncIterator in response.events)) {
      await delayRejection(rejectionMilliseconds)
      release()
    }
    return response
  }

  async function start(request: SubscriptionRequest, release: () => void): Promise<SubscriptionResponse> {
    const { operation, variables, context } = request
    const points = await admissions.admit(request)
    const { headers } = points
    const { errors, coerced = {} } = operation.coerce(variables)
    if (errors) return { events: shown({ errors }, request), headers }
    context.loaders.follow(operation.planOf(coerced, context))
    const subscription: SubscribedOperation = { spend: (points) => admissions.spend(request, points) }
    const source = await createSourceEventStream(executionArgs(operation, { ...context, subscription }, coerced))
    if (!(Symbol.asyncIterator in source)) return { events: shown(source, request), headers }
    const values = source[Symbol.asyncIterator]() as SubscriptionValues<unknown>
    const resultOf = createResults(request, points, () => admissions.admit({ ...request, bodyLength: 0 }))
    return { events: sendEach(values, { request, resultOf, unsent, release }), headers }
  }
}

/**
 * Returns a function that executes the operation for a value.
 *
 * @param first the points of the first one
 * @param admit takes those of another one
 */
function createResults(request: SubscriptionRequest, first: Reservation, admit: () => Promise<Reservation>) {
  const { context, statements } = request
  let taken: Reservation | undefined = first

  return async (value: unknown, viewer: Viewer): Promise<SentResult> => {
    const points = taken ?? (await admit())
    taken = undefined
    statements.hasTimedOut = false
    points.begin()
    // Loaders of an earlier event have rows that are out of date, and conditions whose scopes the viewer can have lost.
    const own = { ...context, ...context.within(context.sql), viewer }
    const result = await executeOperation({ ...request, context: own }, value)
    const { data, errors } = result
    const length = lengthOf(errors ? [data, errors] : data)
    requireResponseLength(length)
    points.use(usedPoints(request, result))
    await points.settle(pointsOfLength(length), false)
    points.end()
    return { result, length }
  }
}
