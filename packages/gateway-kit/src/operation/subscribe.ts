import { type Viewer, watchCredential } from '@fusion-gateway/auth'
import { type ErrorCode, GatewayError, requireScope } from '@fusion-gateway/base'
import { delayRejection, type OperationLimits, type Reservation } from '@fusion-gateway/limits'
import { createSourceEventStream, type ExecutionResult, GraphQLError } from 'graphql'
import type { SubscribedOperation } from '../context.ts'
import { Interruption, type SubscriptionValues } from '../subscription-values.ts'
import {
  type Admissions,
  lengthOf,
  longResponse,
  mebibyte,
  pointsOfLength,
  requireResponseLength,
  usedPoints,
} from './admit.ts'
import { countErrors, executeOperation, executionArgs, type OperationRequest, toClientResult } from './execute.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

export interface SubscriptionRequest extends OperationRequest {
  /** Calls back when the client has received the events so far, or has gone. */
  onFlushed(done: () => void): void
  /** Calls back when the client has taken nothing for as long as a connection may be idle. */
  onUnread(done: () => void): void
  /** Returns the current viewer of the key or token. Rejects if it is no longer valid. */
  checkKey(): Promise<Viewer>
}

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
 * Creates `subscribe`. Each event checks the key, takes what it may cost from the budgets before it is executed, and
 * gives back what it did not use; before a list is read again, its source takes it. When the key is revoked, loses a
 * scope or has no points left, the token expires, or the client reads nothing, the subscription sends the error and
 * ends. Without events the key is checked each second. A rejection is sent after a second. When the gateway or the
 * database stops, the subscription breaks off.
 *
 * @throws GatewayError TOO_EXPENSIVE, RATE_LIMITED
 * @throws Interruption if the gateway or the database cannot start it now
 */
export function createSubscribe({ admissions, limits }: SubscribeOptions): Subscribe {
  const { subscriptions } = limits

  return async (request) => {
    const release = await subscriptions.take(request.context.viewer)
    const response = await start(request, release).catch((error: unknown) => {
      release()
      throw error
    })
    if (!(Symbol.asyncIterator in response.events)) {
      await delayRejection()
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
    const paid = createPaidEvents(() => admissions.admit({ ...request, bodyLength: 0 }), points)
    const subscription: SubscribedOperation = {
      reserve: paid.reserve,
      spend: (points) => admissions.spend(request, points),
      modelsOf: (logged) => operation.dependenciesOn(logged)?.models,
    }
    const source = await createSourceEventStream(executionArgs(operation, { ...context, subscription }, coerced))
    if (!(Symbol.asyncIterator in source)) return { events: shown(source, request), headers }
    const values = releasing(source[Symbol.asyncIterator]() as SubscriptionValues<unknown>, release)
    // A client that has gone ends the values, also while the next one is awaited.
    request.held.untilOver(() => void values.return())
    return { events: eventsOf(values, request, { limits, paid }), headers }
  }
}

/**
 * The points of the events, each of which is an execution.
 *
 * @param first those of the first one
 */
function createPaidEvents(admit: () => Promise<Reservation>, first: Reservation) {
  let next: Reservation | undefined = first
  return {
    async reserve() {
      next = await admit()
      return next.budget
    },
    /** Returns the points for the next event. If they are not taken already, it takes them. */
    async take(): Promise<Reservation> {
      const taken = next ?? (await admit())
      next = undefined
      return taken
    },
  }
}

interface EventsOptions extends Pick<SubscribeOptions, 'limits'> {
  readonly paid: ReturnType<typeof createPaidEvents>
}

/** The same values. When they end for any reason, the permit is released. */
function releasing(values: SubscriptionValues<unknown>, release: () => void) {
  return {
    position: values.position,
    continuation: () => values.continuation(),
    changesIn: values.changesIn,
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
      await values.return()
    },
  }
}

async function* eventsOf(
  values: ReturnType<typeof releasing>,
  request: SubscriptionRequest,
  options: EventsOptions,
): AsyncGenerator<ExecutionResult> {
  const { checkKey, onFlushed, onUnread } = request
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
  const resultOf = createResults(request, values.changesIn, options)
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
      const event = await resultOf(value)
      if (!event) continue
      release = event.release
      lastResult = event.result
      yield withPosition(event.result)
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

/**
 * Returns a function that turns a value into an event, or into none if it changes nothing for the client. The caller
 * releases its permits when the client has received it.
 */
function createResults(
  request: SubscriptionRequest,
  changesIn: SubscriptionValues<unknown>['changesIn'],
  { limits, paid }: EventsOptions,
) {
  const { operation, context, statements, checkKey } = request
  const { queues, unsent } = limits
  const { viewer } = context

  /** Executes the operation. A list is also compared with what the client has: both can take long, so it is queued. */
  async function read(value: unknown, current: Viewer) {
    // Loaders of an earlier event have rows that are out of date, and conditions whose scopes the viewer can have lost.
    const own = { ...context, ...context.within(context.sql), viewer: current }
    const execute = () => executeOperation({ ...request, context: own }, value)
    if (!changesIn) {
      const whole = await execute()
      return { whole, result: whole }
    }
    const readAndCompare = async () => {
      const whole = await execute()
      requireAvailable(whole)
      return { whole, result: changesIn(whole) }
    }
    return queues.operations.run(viewer, readAndCompare, () => statements.isAbandoned === true)
  }

  return async (value: unknown) => {
    const current = await checkKey()
    requireSameScopes(viewer, current, operation)
    await unsent.check(viewer)
    const points = await paid.take()
    statements.hasTimedOut = false
    points.begin()
    const { whole, result } = await read(value, current)
    const length = lengthOfResult(whole)
    requireResponseLength(length)
    points.use(usedPoints(request, whole))
    await points.settle(pointsOfLength(length), changesIn !== undefined)
    points.end()
    if (!result) return undefined
    countErrors(result, context)
    const sent = lengthOfResult(result)
    return { result, release: sent >= longResponse ? unsent.hold(viewer, Math.ceil(sent / mebibyte)) : undefined }
  }
}

function lengthOfResult({ data, errors }: ExecutionResult): number {
  return lengthOf(errors ? [data, errors] : data)
}

/** @throws GatewayError FORBIDDEN if the key has lost a scope since it subscribed */
function requireSameScopes(before: Viewer, now: Viewer, { scopes }: PreparedOperation): void {
  for (const scope of scopes) if (before.scopes.includes(scope)) requireScope(now, scope)
}

/** @throws Interruption if the result says that the gateway or the database could not give it now */
function requireAvailable({ errors = [] }: ExecutionResult): void {
  const error = errors.find(({ extensions }) => extensions['code'] === ('SERVICE_UNAVAILABLE' satisfies ErrorCode))
  if (error) throw new Interruption(error.message)
}

/** @throws Interruption */
function shown(result: ExecutionResult, request: SubscriptionRequest): ExecutionResult {
  const clientResult = toClientResult(result, request)
  requireAvailable(clientResult)
  countErrors(clientResult, request.context)
  return clientResult
}
