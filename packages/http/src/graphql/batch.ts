import { GatewayError, isObject } from '@fusion-gateway/base'
import type { DocumentRequest, Operations, Services } from '@fusion-gateway/gateway-kit'
import {
  type GraphQLParams,
  idempotencyKeyIn,
  type JsonType,
  lengthOf,
  negotiateJson,
  readBodyParams,
  readKey,
  readsAnew,
  resultOfError,
  statusOf,
  statusOfError,
  viewerOf,
  WrittenResult,
} from '@fusion-gateway/gateway-kit'
import { budgetHeaders, type FairQueue, type Places, type RateLimit } from '@fusion-gateway/limits'
import { type Tracing, toGatewayError } from '@fusion-gateway/telemetry'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type OperationRequest, startRecorded } from './recorded-operation.ts'

export interface BatchOptions {
  readonly services: Services
  readonly operations: Operations
  readonly places: Places
  readonly points: RateLimit
  /** The queue of work that keeps the event loop busy. */
  readonly steps: FairQueue
  readonly tracing?: Tracing | undefined
  readonly logOf: (id: string) => OperationRequest['log']
}

/** As many operations as the batch links of Apollo and urql send by default. */
const maxBatch = 10

/** Whether a body is an array of 1 to 10 objects: the operations of a batch. */
export function isBatch(body: unknown): body is readonly object[] {
  return Array.isArray(body) && body.length > 0 && body.length <= maxBatch && body.every(isObject)
}

/** The response to an operation of a batch. */
interface Part {
  readonly json: string
  readonly headers: Readonly<Record<string, string>>
  readonly showsSecrets: boolean
}

/**
 * Returns a function that executes the operations of a batch at the same time, each with the duties of a request:
 * a place, its cost, statements of its own, a line in the log, a trace. An error of one does not touch the others. It
 * returns the body of the response: an array of their results in the same order.
 */
export function createBatch(options: BatchOptions) {
  const { services, operations, places, points, steps, tracing, logOf } = options

  async function run(entry: object, operation: OperationRequest, keyIn: typeof idempotencyKeyIn) {
    const viewer = viewerOf(operation)
    await places.take(viewer, operation.held)
    let showsSecrets = false
    const { results, ...response } = await operations.runDocument({
      state: operation,
      params: readBodyParams(entry),
      bodyLength: lengthOf(entry, Number.POSITIVE_INFINITY),
      readsAnew: readsAnew(operation),
      keyOf: keyIn,
      streams: false,
      reader: noEvents,
      accept(prepared, hasSeveral) {
        if (hasSeveral) throw noSubscription()
        showsSecrets = prepared.showsSecrets
      },
    })
    return { result: results, showsSecrets, ...response }
  }

  async function respond(
    entry: object,
    operation: OperationRequest,
    type: JsonType,
    keyIn: typeof idempotencyKeyIn,
  ): Promise<Part> {
    const { statements, refusal, log } = operation
    let status = 200
    try {
      const { result, status: ofDocument, isLong, headers, showsSecrets } = await run(entry, operation, keyIn)
      status = ofDocument ?? statusOf(result, type)
      const write = async () => WrittenResult.stringify(result)
      const isAbandoned = () => statements.isAbandoned === true
      const json = await (isLong ? steps.run(viewerOf(operation), write, isAbandoned) : write())
      return { json, headers, showsSecrets }
    } catch (error) {
      const shown = toGatewayError(error, log)
      refusal.note(shown)
      status = statusOfError(shown, type)
      return { json: JSON.stringify(resultOfError(shown)), headers: shown.headers, showsSecrets: false }
    } finally {
      operation.record({ route: 'POST /graphql', status, isCutOff: statements.isAbandoned === true })
    }
  }

  return async (request: FastifyRequest, reply: FastifyReply, entries: readonly object[]): Promise<string> => {
    const { headers, viewer, held, statements } = request
    // The batch links of clients send an array even if it has one operation.
    const isAlone = entries.length === 1
    if (headers['idempotency-key'] !== undefined && !isAlone) throw oneKey()
    const keyIn = isAlone ? (params: GraphQLParams) => readKey(request, params) : idempotencyKeyIn
    const type = negotiateJson(headers.accept)
    request.isBatch = true
    const started = entries.map((_, index) => {
      const id = `${request.id}.${index + 1}`
      const own = { id, headers, viewer, log: logOf(id), method: 'POST', traceHeaders: headers }
      return startRecorded(own, services.metrics, tracing)
    })
    held.untilOver(() => {
      for (const operation of started) {
        operation.statements.isAbandoned = statements.isAbandoned === true
        operation.held.end()
      }
    })
    // Each operation takes its own.
    held.leavePlace()
    const parts = await Promise.all(
      entries.map(async (entry, index) => {
        const operation = started[index] as OperationRequest
        const part = await respond(entry, operation, type, keyIn)
        statements.statements += operation.statements.statements
        return part
      }),
    )
    // An operation knows what was left when it began. Those beside it have given back points since.
    const budget = await points.charge(viewerOf(request), 0)
    reply.type(`${type}; charset=utf-8`).headers(headersOf(parts.map((part) => part.headers)))
    if (budget) reply.headers(budgetHeaders(budget))
    // As for a response to one operation (route.ts).
    if (parts.some(({ showsSecrets }) => showsSecrets)) reply.header('cache-control', 'no-store, no-transform')
    return `[${parts.map(({ json }) => json).join(',')}]`
  }
}

/** The operations of a batch are no subscriptions. */
const noEvents: DocumentRequest['reader'] = {
  checkKey: () => Promise.reject(noSubscription()),
  onFlushed: (done) => done(),
  onUnread: () => undefined,
}

/** The headers of the response: the cost of all operations, and the longest time to wait. */
function headersOf(parts: readonly Part['headers'][]): Record<string, string> {
  const numbers = (texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) => (text === undefined ? [] : Number(text)))
  const sumOf = (name: 'x-cost' | 'x-cost-requested') => {
    const costs = numbers(parts.map((part) => part[name]))
    return costs.length > 0 && { [name]: String(costs.reduce((sum, cost) => sum + cost)) }
  }
  const delays = numbers(parts.map(({ 'retry-after': delay }) => delay))
  return {
    ...sumOf('x-cost'),
    ...sumOf('x-cost-requested'),
    ...(delays.length > 0 && { 'retry-after': String(Math.max(...delays)) }),
  }
}

/** The rejection of an array that is no batch. */
export function malformedBatch(body: readonly unknown[]): GatewayError {
  const size = body.length
  const problem =
    size === 0 || size > maxBatch
      ? `A batch has 1 to ${maxBatch} operations, and this one has ${size}.`
      : 'Each operation of a batch must be a JSON object.'
  return new GatewayError('MALFORMED_REQUEST', problem)
}

function oneKey(): GatewayError {
  const message =
    'The header idempotency-key is for one operation. Send each operation of a batch with a key of its own, as extensions.idempotencyKey.'
  return new GatewayError('MALFORMED_REQUEST', message)
}

function noSubscription(): GatewayError {
  const message =
    'A subscription cannot be part of a batch. Send it in a request of its own, and accept text/event-stream.'
  return new GatewayError('NOT_ACCEPTABLE', message)
}
