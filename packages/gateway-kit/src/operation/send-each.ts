import { type Viewer, watchCredential } from '@fusion-gateway/auth'
import { type ErrorCode, GatewayError, requireScope } from '@fusion-gateway/base'
import type { OperationLimits } from '@fusion-gateway/limits'
import { type ExecutionResult, GraphQLError } from 'graphql'
import { Interruption, type SubscriptionValues } from '../subscription-values.ts'
import { longResponse, mebibyte } from './admit.ts'
import { countErrors, type OperationRequest, toClientResult } from './execute.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

/** A request whose client gets several results. */
export interface SubscriptionRequest extends OperationRequest {
  /** Calls back when the client has received the events so far, or has gone. */
  onFlushed(done: () => void): void
  /** Calls back when the client has taken nothing for as long as a connection may be idle. */
  onUnread(done: () => void): void
  /** Returns the current viewer of the key or token. Rejects if it is no longer valid. */
  checkKey(): Promise<Viewer>
}

/** What a client gets of a value. */
export interface SentResult {
  readonly result: ExecutionResult
  /** The length of what it shows, about, in characters. */
  readonly length: number
}

interface SendOptions<Value> {
  readonly request: SubscriptionRequest
  /** Makes the result of a value, for the current viewer of the key. */
  readonly resultOf: (value: Value, current: Viewer) => SentResult | Promise<SentResult>
  readonly unsent: OperationLimits['unsent']
  /** Called when the values have ended, for any reason. */
  readonly release: () => void
}

/**
 * Sends a result for each value. Each checks the key first. When the key is revoked or loses a scope, the token
 * expires, or the client reads nothing, the client gets the error, and the results end. Without values the key is
 * checked each second. When the gateway or the database stops, they break off.
 */
export function sendEach<Value>(
  source: SubscriptionValues<Value>,
  options: SendOptions<Value>,
): AsyncGenerator<ExecutionResult> {
  const values = releasing(source, options.release)
  // A client that has gone ends the values, also while the next one is awaited.
  options.request.held.untilOver(() => void values.return())
  return resultsOf(values, options)
}

async function* resultsOf<Value>(
  values: ReturnType<typeof releasing<Value>>,
  { request, resultOf, unsent }: SendOptions<Value>,
): AsyncGenerator<ExecutionResult> {
  const { checkKey, onFlushed, onUnread, operation } = request
  const { viewer } = request.context
  /** Why the key may receive no more events. */
  let rejection: GatewayError | undefined
  const reject = (reason: GatewayError) => {
    rejection ??= reason
    void values.return()
  }
  const stopWatching = watchCredential(checkKey, reject)
  // The client gets the error if it reads again.
  onUnread(() =>
    reject(
      new GatewayError('REQUEST_TIMEOUT', `The client read nothing for too long. ${values.continuation()}`, {
        limit: 'unread_time',
      }),
    ),
  )
  let release: (() => void) | undefined
  let lastResult: ExecutionResult = {}
  let { position } = values
  /** The first message has the position. */
  const withPosition = (result: ExecutionResult): ExecutionResult => {
    const extensions = position === undefined ? undefined : { position }
    position = undefined
    return extensions ? { ...result, extensions } : result
  }
  try {
    // Only on request: clients read the field of each message. Those that support messages without data expect null.
    if (request.withPosition && position !== undefined) yield withPosition({ data: null })
    for (;;) {
      const { done, value } = await values.next()
      if (done) break
      const current = await checkKey()
      requireSameScopes(viewer, current, operation)
      await unsent.check(viewer)
      const { result, length } = await resultOf(value, current)
      countErrors(result, request.context)
      release = length >= longResponse ? unsent.hold(viewer, Math.ceil(length / mebibyte)) : undefined
      lastResult = result
      yield withPosition(result)
      // Yoga asks for the next event before the last one is sent.
      if (release) onFlushed(release)
    }
    if (rejection) throw rejection
    // The client lacks the last value.
    requireAvailable(lastResult)
  } catch (error) {
    await values.return()
    const thrown = rejection ?? error
    const cause = thrown instanceof Error ? thrown : new Error(String(thrown))
    yield shown({ errors: [new GraphQLError(cause.message, { originalError: cause })] }, request)
  } finally {
    stopWatching()
    if (release) onFlushed(release)
    await values.return()
  }
}

/** The same values. When they end for any reason, the place is released. */
function releasing<Value>(values: SubscriptionValues<Value>, release: () => void) {
  return {
    position: values.position,
    continuation: () => values.continuation(),
    async next(): Promise<IteratorResult<Value, undefined>> {
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
      await values.return()
    },
  }
}

/** @throws GatewayError FORBIDDEN if the key has lost a scope since it subscribed */
function requireSameScopes(before: Viewer, now: Viewer, { scopes }: PreparedOperation): void {
  for (const scope of scopes) if (before.scopes.includes(scope)) requireScope(now, scope)
}

/** @throws Interruption if the result says that the gateway or the database could not give it now */
export function requireAvailable({ errors = [] }: ExecutionResult): void {
  const error = errors.find(({ extensions }) => extensions['code'] === ('SERVICE_UNAVAILABLE' satisfies ErrorCode))
  if (error) throw new Interruption(error.message)
}

/** @throws Interruption */
export function shown(result: ExecutionResult, request: OperationRequest): ExecutionResult {
  const clientResult = toClientResult(result, request)
  requireAvailable(clientResult)
  countErrors(clientResult, request.context)
  return clientResult
}
