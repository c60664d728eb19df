import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { ExecutionResult, GraphQLError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import { errorCodes, GatewayError, isErrorCode } from '../../../errors.ts'
import { logOutcome } from '../../../http/plugins/request-log.ts'
import { type Authenticate, contextOf, type RequestState, toIdempotencyKey } from '../../../http/request.ts'
import { excessOf } from '../../../input/json.ts'
import { Interruption } from '../../../interruption.ts'
import type { Tracing } from '../../../telemetry/tracing.ts'
import { clientOf } from '../../../telemetry/usage/client.ts'
import { toClientError } from '../../operation/client-error.ts'
import { lengthOf, longResponse } from '../../operation/response-length.ts'
import type { DocumentFinder } from '../documents.ts'
import { showResults } from '../hide-names.ts'
import { type GraphQLParams, readBodyParams } from '../params.ts'
import type { ResponderOptions } from '../responder.ts'
import { numberProblemOf } from './hand-over.ts'

export interface SocketOperationsOptions extends Omit<ResponderOptions, 'authenticate'>, Pick<FastifyInstance, 'load'> {
  readonly documents: DocumentFinder
  readonly tracing?: Tracing | undefined
}

/** The errors of an operation that is not executed, as the client sees them. */
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
  /** Finds the viewer anew for each operation, because a key can lose scopes. Closes the connection if it is no longer valid. */
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
 * Creates the function that executes an operation of a WebSocket, with the duties of a request: permits, statements, a line in the log, a
 * trace. Each result is read when the client's connection has taken the one before.
 *
 * @returns `start`, whose results throw a `RejectedOperation`. `return` ends an operation whose client has left
 */
export function createSocketOperations(options: SocketOperationsOptions) {
  const { services, operations, documents, introspection, load, tracing } = options

  async function* execute(
    { payload, authenticate, silenceListeners, onSubscribe }: SocketRequest,
    request: RequestState,
    { signal }: AbortController,
  ): AsyncGenerator<ExecutionResult> {
    load.requireCapacity()
    const viewer = await authenticate(request)
    const release = await load.take(viewer)
    signal.addEventListener('abort', release)
    if (signal.aborted) release()
    const { log, statements } = request
    const isAbandoned = () => signal.aborted
    const params = documents.find(readParams(payload), viewer.tenantAppId, log)
    const shown = (result: ExecutionResult) => (introspection ? result : withoutNames(result, params))
    const { query, operationName, variables = {}, extensions } = params
    const prepared = await operations.prepareFor(viewer, query, operationName, isAbandoned, clientOf(request.headers))
    if (prepared.errors) {
      const errors = prepared.errors.map((error) => toClientError(error, log))
      throw new RejectedOperation(shown({ errors }).errors ?? [])
    }
    const { operation } = prepared
    request.operationName = operation.name
    documents.store(params, viewer.tenantAppId)
    const toRun = {
      ...{ operation, variables, statements, context: contextOf(request, services) },
      bodyLength: lengthOf(payload, Number.POSITIVE_INFINITY),
      // As for a POST, so that a client may send the mutation again by either.
      idempotencyKey: toIdempotencyKey('extensions.idempotencyKey', extensions?.['idempotencyKey'], 'POST /graphql', [
        query,
        operationName,
        params.variables,
      ]),
      onSent(done: () => void) {
        signal.addEventListener('abort', done)
        if (signal.aborted) done()
      },
    }
    if (operation.kind === 'subscription') {
      onSubscribe()
      const checkKey = () => authenticate(request)
      const onUnread = (done: () => void) => {
        silenceListeners.add(done)
        toRun.onSent(() => void silenceListeners.delete(done))
      }
      const { events } = await operations.subscribe({ ...toRun, checkKey, onUnread, onFlushed: (done) => done() })
      release()
      if (Symbol.asyncIterator in events) for await (const event of events) yield shown(event)
      else yield shown(events)
      return
    }
    const { result, length } = await operations.run(toRun)
    if (length > longResponse) {
      await new Promise<void>((resolve, reject) => {
        // graphql-ws writes the response in the same round of the event loop, so the queue waits for the next round.
        const write = () => {
          resolve()
          return setImmediate()
        }
        services.queues.steps.run(viewer, write, isAbandoned).catch(reject)
      })
    }
    yield shown(result)
  }

  async function* record(from: SocketRequest, request: RequestState, ended: AbortController) {
    const startedAt = performance.now()
    const route = 'WEBSOCKET /graphql'
    const trace = tracing?.begin({ method: 'WEBSOCKET', route: '/graphql', headers: traceHeaders(from.payload) })
    request.trace = trace
    request.statements.observe = trace?.observe
    let status = 200
    try {
      for await (const result of execute(from, request, ended)) {
        if (!ended.signal.aborted) yield result
      }
    } catch (error) {
      if (error instanceof Interruption) return ended.signal.aborted ? undefined : from.onInterruption(error.message)
      const errors = error instanceof RejectedOperation ? error.errors : [toClientError(error, request.log)]
      const code = errors[0]?.extensions['code']
      status = isErrorCode(code) ? errorCodes[code].status : errorCodes.INTERNAL.status
      if (!ended.signal.aborted) throw new RejectedOperation(errors)
    } finally {
      const isCutOff = ended.signal.aborted
      ended.abort()
      const milliseconds = performance.now() - startedAt
      logOutcome(request, { route, status, isCutOff, milliseconds }, services.metrics)
      const { tenantAppId: tenant, keyName: key } = request.viewer ?? {}
      trace?.end({ requestId: from.id, status, isCutOff, tenant, key })
    }
  }

  return (from: SocketRequest): AsyncGenerator<ExecutionResult> => {
    const { headers, log } = from
    const statements: RequestState['statements'] = { statements: 0, requestId: from.id }
    const request = { headers, log, statements, viewer: null, trace: undefined, operationName: undefined }
    const ended = new AbortController()
    ended.signal.addEventListener('abort', from.onEnd)
    const results = record(from, request, ended)
    const finish = results.return.bind(results)
    return Object.assign(results, {
      return() {
        // Also while a statement or an event is awaited.
        statements.isAbandoned = true
        ended.abort()
        return finish()
      },
    })
  }
}

/** @throws GatewayError MALFORMED_REQUEST */
function readParams(payload: SubscribePayload): GraphQLParams {
  const excess = excessOf(payload)
  if (excess !== undefined) throw new GatewayError('MALFORMED_REQUEST', `The message ${excess}.`)
  const problem = numberProblemOf(payload)
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `The message ${problem}.`)
  // graphql-ws requires a text. It is empty if the client names the document by an id or a hash.
  return readBodyParams({ ...payload, query: payload.query || undefined })
}

function withoutNames(result: ExecutionResult, params: GraphQLParams): ExecutionResult {
  return showResults(result, params) as ExecutionResult
}

/** The trace of the client, which a WebSocket has in the extensions of each operation: it has no headers. */
function traceHeaders({ extensions = {} }: SubscribePayload): Record<string, string> {
  const names = ['traceparent', 'tracestate'] as const
  return Object.fromEntries(
    names.flatMap((name) => (typeof extensions?.[name] === 'string' ? [[name, extensions[name]]] : [])),
  )
}
