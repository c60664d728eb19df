import { type ErrorCode, GatewayError } from '@fusion-gateway/base'
import { delayRejection, Held, type OperationLimits } from '@fusion-gateway/limits'
import { type ExecutionResult, GraphQLError } from 'graphql'
import { createContext, type Services } from '../context.ts'
import type { OperationRequest } from '../operation/execute.ts'
import { type Results, type Run, startRun } from '../operation/run.ts'
import { requireAvailable, type SubscriptionRequest, sendEach, shown } from '../operation/send-each.ts'
import type { Live } from './directive.ts'
import type { Follower, LiveQueries } from './live-queries.ts'
import type { Evaluation } from './live-query.ts'

/** Follows a live query for a client. Returns its results: the first one, and each that differs from the one before. */
export type FollowLive = (request: SubscriptionRequest, live: Live, acceptsPatches: boolean) => Promise<Results>

/** Creates the functions that follow live queries. What they follow takes the place of a subscription. */
export function createFollowLive(queries: LiveQueries, limits: OperationLimits) {
  const { subscriptions, unsent, rejectionMilliseconds } = limits
  /** @throws GatewayError if the query cannot be executed now, or too much is followed */
  async function follow(request: OperationRequest, live: Live, acceptsPatches: boolean): Promise<Follower> {
    const onEnd = await subscriptions.take(request.context.viewer)
    const follower = await queries.follow({ request, live, acceptsPatches, onEnd }).catch((error: unknown) => {
      onEnd()
      throw error
    })
    request.held.untilOver(() => void follower.return())
    // From now on it only waits for changes.
    request.held.leavePlace()
    return follower
  }

  const followLive: FollowLive = async (request, live, acceptsPatches) => {
    try {
      const follower = await follow(request, live, acceptsPatches)
      return sendEach(follower, { request, unsent, resultOf: (message) => message })
    } catch (error) {
      if (!live.isSubscription || !(error instanceof GatewayError) || !rejections.has(error.code)) throw error
      // As with other subscriptions, it is an event. Clients that try again at once would delay others.
      await delayRejection(rejectionMilliseconds)
      return shown({ errors: [new GraphQLError(error.message, { originalError: error })] }, request)
    }
  }
  return { follow, followLive }
}

/** Why a subscription cannot show its object, whenever it is asked for. */
const rejections: ReadonlySet<ErrorCode> = new Set(['FORBIDDEN', 'BAD_USER_INPUT'])

/** The share of a minute's points that live queries leave to other requests. With less left, they wait for the next one. */
const shareOfOthers = 1 / 2

/**
 * Returns the function that reads the result of a live query, on the primary, where the log is read.
 *
 * @param execute admits an operation, and executes it in the turn of its tenant
 */
export function createEvaluate(services: Services, execute: (run: Run) => Promise<ExecutionResult>) {
  return async (followed: OperationRequest): Promise<Evaluation> => {
    const { operation, variables, context } = followed
    const { viewer, log, client, trace } = context
    const { requestId, observe } = followed.statements
    const statements = { statements: 0, observe, ...(requestId !== undefined && { requestId }) }
    const held = new Held()
    let isLast = false
    const end = () => {
      isLast = true
    }
    const request: OperationRequest = {
      operation,
      variables,
      context: { ...createContext(services, { viewer, log, client, trace, statements }), live: { end } },
      statements,
      held,
      bodyLength: 0,
    }
    const run = startRun(undefined, request)
    run.isCurrent = true
    try {
      const { data, errors } = await execute(run)
      const result = { ...(errors && { errors }), ...(data !== undefined && { data }) }
      requireAvailable(result)
      if (operation.kind === 'subscription') requireObject(result)
      const { budget } = held.points ?? {}
      const isShort = budget !== undefined && budget.remaining < shareOfOthers * budget.points
      return { result, isLast, rest: isShort ? budget.resetSeconds * 1_000 : 0 }
    } finally {
      held.end()
    }
  }
}

/** @throws the error because of which a subscription cannot show its object */
function requireObject({ data, errors = [] }: ExecutionResult): void {
  const [error] = errors
  const isShown = Object.values(data ?? {}).some((value) => value !== null)
  if (error && !isShown) throw error.originalError ?? error
}
