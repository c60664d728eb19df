import type { OperationLimits } from '@fusion-gateway/limits'
import { Held } from '@fusion-gateway/limits'
import type { ExecutionResult } from 'graphql'
import { createContext, type Services } from '../context.ts'
import type { OperationRequest } from '../operation/execute.ts'
import type { Run } from '../operation/run.ts'
import { startRun } from '../operation/run.ts'
import { requireAvailable, type SubscriptionRequest, sendEach } from '../operation/send-each.ts'
import type { Live } from './directive.ts'
import type { LiveQueries } from './live-queries.ts'
import type { Evaluation } from './live-query.ts'

/** Follows a live query for a client. Returns its results, each of them as often as it is another one. */
export type FollowLive = (
  request: SubscriptionRequest,
  live: Live,
  acceptsPatches: boolean,
) => Promise<AsyncIterable<ExecutionResult>>

/** @throws GatewayError if the query cannot be executed now, or too much is followed */
export function createFollowLive(queries: LiveQueries, { subscriptions, unsent }: OperationLimits): FollowLive {
  return async (request, live, acceptsPatches) => {
    const release = await subscriptions.take(request.context.viewer)
    try {
      const follower = await queries.follow({ request, live, acceptsPatches })
      return sendEach(follower, { request, resultOf: (message) => message, unsent, release })
    } catch (error) {
      release()
      throw error
    }
  }
}

/** The share of a minute's points that live queries leave to other requests. With less left, they wait for the next one. */
const shareOfOthers = 1 / 2

/**
 * Returns the function that reads the result of a live query, in the turn of its tenant and on the primary, where the
 * log is read.
 *
 * @param execute admits and executes an operation
 */
export function createEvaluate(
  services: Services,
  { queues }: Pick<OperationLimits, 'queues'>,
  execute: (run: Run) => Promise<ExecutionResult>,
) {
  return async (followed: OperationRequest): Promise<Evaluation> => {
    const { operation, variables, context } = followed
    const { viewer, log, client } = context
    const { requestId } = followed.statements
    const statements = { statements: 0, ...(requestId !== undefined && { requestId }) }
    const held = new Held()
    let isLast = false
    const end = () => {
      isLast = true
    }
    const request: OperationRequest = {
      operation,
      variables,
      context: { ...createContext(services, { viewer, log, client, statements }), live: { end } },
      statements,
      held,
      bodyLength: 0,
    }
    const run = startRun(undefined, request)
    run.isCurrent = true
    try {
      const { data, errors } = await queues.operations.run(viewer, () => execute(run))
      const result = { ...(errors && { errors }), ...(data !== undefined && { data }) }
      requireAvailable(result)
      const { budget } = held.points ?? {}
      const isShort = budget !== undefined && budget.remaining < shareOfOthers * budget.points
      return { result, isLast, rest: isShort ? budget.resetSeconds * 1_000 : 0 }
    } finally {
      held.end()
    }
  }
}
