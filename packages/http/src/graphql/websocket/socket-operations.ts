import { setImmediate } from 'node:timers/promises'
import type { Viewer } from '@fusion-gateway/auth'
import { errorCodes, GatewayError, isErrorCode } from '@fusion-gateway/base'
import type { Authenticate, Operations, RequestState, Services } from '@fusion-gateway/gateway-kit'
import {
  type GraphQLParams,
  Interruption,
  idempotencyKeyIn,
  lengthOf,
  readBodyParams,
  toClientError,
  WrittenResult,
} from '@fusion-gateway/gateway-kit'
import { excessOf } from '@fusion-gateway/input'
import type { Limits } from '@fusion-gateway/limits'
import type { Tracing } from '@fusion-gateway/telemetry'
import type { ExecutionResult, GraphQLError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import { type OperationRequest, startRecorded } from '../recorded-operation.ts'
import { numberProblemOf } from './messages.ts'

export interface SocketOperationsOptions {
  readonly services: Services
  readonly operations: Operations
  readonly limits: Limits
  readonly heartbeatMilliseconds: number
  readonly tracing?: Tracing | undefined
}

export class RejectedOperation extends Error {
  override readonly name = 'RejectedOperation'
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super('The operation is not executed.')
    this.errors = errors
  }
}

/** An operation of a client. */
interface SocketRequest extends Pick<RequestState, 'headers' | 'log'> {
  readonly id: string
  /** Finds the viewer for each operation, and closes the connection if the key is no longer valid. */
  readonly authenticate: Authenticate
  readonly payload: SubscribePayload
  /** Called when the client has sent nothing for long, not even the reply to a ping. */
  readonly silenceListeners: Set<() => void>
  /** Called before the first event of a subscription. */
  onSubscribe(): void
  /** Called instead of completing a subscription that breaks off. */
  onInterruption(reason: string): void
  onEnd(): void
}

/**
 * Returns a function that executes an operation of a WebSocket, with the duties of a request: permits, statements, a
 * line in the log, a trace. Each result is read when the client's connection has taken the one before.
 *
 * @returns `start`, whose results throw a `RejectedOperation`. `return` ends an operation whose client has left
 */
export function createSocketOperations(options: SocketOperationsOptions) {
  const { services, operations, limits, tracing } = options

  async function* execute(
    { payload, authenticate, silenceListeners, onSubscribe }: SocketRequest,
    request: RequestState,
  ): AsyncGenerator<ExecutionResult> {
    const { held } = request
    limits.places.requireCapacity()
    const viewer = await authenticate(request)
    await limits.places.take(viewer, held)
    const { results, rejected, isLong } = await operations.runDocument({
      state: request,
      params: readParams(payload),
      bodyLength: lengthOf(payload, Number.POSITIVE_INFINITY),
      keyOf: idempotencyKeyIn,
      streams: true,
      accept(_, hasSeveral) {
        if (hasSeveral) onSubscribe()
      },
      reader: {
        checkKey: () => authenticate(request),
        onFlushed: (done) => done(),
        onUnread(done) {
          silenceListeners.add(done)
          held.untilOver(() => void silenceListeners.delete(done))
        },
      },
    })
    if (rejected) throw new RejectedOperation(rejected)
    if (isLong) await startTurn(viewer, () => held.isOver)
    if (Symbol.asyncIterator in results) for await (const result of results) yield result
    else yield WrittenResult.toObject(results)
  }

  /** Resolves when it is the viewer's turn to write a long response. */
  function startTurn(viewer: Viewer, isAbandoned: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      // graphql-ws writes the response in the same round of the event loop, so the queue waits for the next round.
      const write = () => {
        resolve()
        return setImmediate()
      }
      limits.queues.parsing.run(viewer, write, isAbandoned).catch(reject)
    })
  }

  async function* record(from: SocketRequest, request: OperationRequest) {
    const { held } = request
    let status = 200
    try {
      for await (const result of execute(from, request)) {
        if (!held.isOver) yield result
      }
    } catch (error) {
      if (error instanceof Interruption) return held.isOver ? undefined : from.onInterruption(error.message)
      request.refusal.note(error)
      const errors = error instanceof RejectedOperation ? error.errors : [toClientError(error, request.log)]
      const code = errors[0]?.extensions['code']
      status = isErrorCode(code) ? errorCodes[code].status : errorCodes.INTERNAL.status
      if (!held.isOver) throw new RejectedOperation(errors)
    } finally {
      const isCutOff = held.isOver
      held.end()
      request.record({ route: 'WEBSOCKET /graphql', status, isCutOff })
    }
  }

  return (from: SocketRequest): AsyncGenerator<ExecutionResult> => {
    const { id, headers, log, payload } = from
    const started = { id, headers, log, viewer: null, method: 'WEBSOCKET', traceHeaders: traceHeaders(payload) }
    const request = startRecorded(started, services.metrics, tracing)
    const { statements, held } = request
    held.untilOver(from.onEnd)
    const results = record(from, request)
    const finish = results.return.bind(results)
    return Object.assign(results, {
      return() {
        // Also while a statement or an event is awaited.
        statements.isAbandoned = true
        held.end()
        return finish()
      },
    })
  }
}

/** @throws GatewayError MALFORMED_REQUEST */
function readParams(payload: SubscribePayload): GraphQLParams {
  const excess = excessOf(payload)
  if (excess !== undefined)
    throw new GatewayError('MALFORMED_REQUEST', `The message ${excess}.`, { limit: 'body_values' })
  const problem = numberProblemOf(payload)
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `The message ${problem}.`)
  // graphql-ws requires a text. It is empty if the client names the document by an id or a hash.
  return readBodyParams({ ...payload, query: payload.query || undefined })
}

/** The trace of the client, which a WebSocket has in the extensions of each operation: it has no headers. */
function traceHeaders({ extensions = {} }: SubscribePayload): Record<string, string> {
  const names = ['traceparent', 'tracestate'] as const
  return Object.fromEntries(
    names.flatMap((name) => (typeof extensions?.[name] === 'string' ? [[name, extensions[name]]] : [])),
  )
}
