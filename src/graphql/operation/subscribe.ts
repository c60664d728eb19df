import { createSourceEventStream, type ExecutionResult, GraphQLError } from 'graphql'
import { requireScope } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { runAttributed, type StatementMeter } from '../../db/statement-meter.ts'
import { createKeySlots } from '../../limits/key-slots.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import type { Admit } from './admit.ts'
import { requireAnswerLength } from './answer-length.ts'
import { countErrors, executeOperation, executionArgs, toClientResult } from './execute.ts'
import type { OperationRequest } from './operation-request.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

/** A subscription to start. */
export interface SubscriptionRequest extends OperationRequest {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  /** Returns what the key may do now. Rejects if it is no longer valid. */
  checkKey(): Promise<Viewer>
}

/** The events of a subscription, or a single result if it is rejected; and headers of the answer. */
export interface SubscriptionAnswer {
  readonly events: ExecutionResult | AsyncIterableIterator<ExecutionResult>
  readonly headers: Readonly<Record<string, string>>
}

export type Subscribe = (request: SubscriptionRequest) => Promise<SubscriptionAnswer>

interface SubscribeOptions {
  readonly admit: Admit
  readonly rateLimit: RateLimit
  readonly meter: StatementMeter
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxPerKey: number
}

/**
 * Creates `subscribe`. Each event checks the key, and takes the price of its nodes from the key's budget. When the key is
 * revoked, loses a scope or has no points left, the subscription sends the error and ends.
 *
 * @throws GatewayError TOO_EXPENSIVE, RATE_LIMITED
 */
export function createSubscribe({ admit, rateLimit, meter, maxPerKey }: SubscribeOptions): Subscribe {
  const slots = createKeySlots(maxPerKey, 'subscriptions', 'MAX_SUBSCRIPTIONS_PER_KEY')

  return async (request) => {
    const release = await slots.take(request.context.viewer.keyId)
    const answer = await start(request, release).catch((error: unknown) => {
      release()
      throw error
    })
    if (!(Symbol.asyncIterator in answer.events)) release()
    return answer
  }

  async function start(request: SubscriptionRequest, release: () => void): Promise<SubscriptionAnswer> {
    const { operation, variables, context } = request
    const { headers } = await admit(context.viewer, operation, variables)
    const { errors, coerced = {} } = operation.coerce(variables)
    if (errors) return { events: shown({ errors }, request), headers }
    const source = await meter.run(request.statements, () =>
      createSourceEventStream(executionArgs(operation, context, coerced)),
    )
    if (!(Symbol.asyncIterator in source)) return { events: shown(source, request), headers }
    const values = releasing(source[Symbol.asyncIterator](), release)
    // If the client has gone meanwhile, nothing else ends the source.
    if (request.signal.aborted) await values.return()
    return { events: eventsOf(values, request, { rateLimit, meter }), headers }
  }
}

/** The same values. When they end, for whatever reason, the slot is released. */
function releasing(values: AsyncIterator<unknown>, release: () => void) {
  return {
    async next(): Promise<IteratorResult<unknown>> {
      try {
        const result = await values.next()
        if (result.done) release()
        return result
      } catch (error) {
        release()
        throw error
      }
    },
    async return(): Promise<void> {
      release()
      await values.return?.()
    },
  }
}

function eventsOf(
  values: ReturnType<typeof releasing>,
  request: SubscriptionRequest,
  { rateLimit, meter }: Pick<SubscribeOptions, 'rateLimit' | 'meter'>,
): AsyncIterableIterator<ExecutionResult> {
  const { operation, context, statements, checkKey } = request
  let isFirst = true

  async function resultOf(value: unknown): Promise<ExecutionResult> {
    requireSameScopes(context.viewer, await checkKey(), operation)
    // Rows of an earlier event are out of date.
    context.loaders.clearAll()
    const result = await runAttributed(meter, statements, () => executeOperation(request, value))
    requireAnswerLength(result.data)
    countErrors(result, context)
    // The admission has taken the price of the first event.
    if (!isFirst) await rateLimit.spend(context.viewer.keyId, Math.max(1, operation.countNodes(result.data)))
    isFirst = false
    return result
  }

  const events: AsyncIterableIterator<ExecutionResult> = {
    async next() {
      const { done, value } = await runAttributed(meter, statements, () => values.next())
      if (done) return { done, value: undefined }
      try {
        return { done: false, value: await resultOf(value) }
      } catch (error) {
        await values.return()
        const cause = error instanceof Error ? error : new Error(String(error))
        const errors = [new GraphQLError(cause.message, { originalError: cause })]
        return { done: false, value: shown({ errors }, request) }
      }
    },
    async return() {
      await values.return()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => events,
  }
  return events
}

/** @throws GatewayError FORBIDDEN if the key has lost a scope since it subscribed */
function requireSameScopes(before: Viewer, now: Viewer, { scopes }: PreparedOperation): void {
  for (const scope of scopes) if (before.scopes.includes(scope)) requireScope(now, scope)
}

function shown(result: ExecutionResult, request: SubscriptionRequest): ExecutionResult {
  const clientResult = toClientResult(result, request)
  countErrors(clientResult, request.context)
  return clientResult
}
