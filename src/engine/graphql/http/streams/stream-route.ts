import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { createContext, type Services } from '../../../context.ts'
import { GatewayError } from '../../../errors.ts'
import type { Authenticate } from '../../../http/authenticate.ts'
import { readIdempotencyKey } from '../../../http/idempotency-key.ts'
import { releaseSlots } from '../../../http/plugins/load-shedding.ts'
import { viewerOf } from '../../../http/request.ts'
import { toClientError } from '../../operation/client-error.ts'
import type { Operations } from '../../operation/run.ts'
import type { SubscriptionAnswer } from '../../operation/subscribe.ts'
import { withoutNames } from '../client-result.ts'
import type { DocumentFinder } from '../documents.ts'
import { requireEventStream } from '../negotiate.ts'
import { type GraphQLParams, readBodyParams } from '../params.ts'
import { createEventStreams, type EventStreamsOptions, type StreamedOperation } from './event-streams.ts'
import { sendResults } from './send-results.ts'

export interface StreamRouteOptions {
  readonly services: Services
  readonly operations: Operations
  readonly authenticate: Authenticate
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
  /** The maximum number of event streams of a key, as of its subscriptions. */
  readonly maxSubscriptionsPerKey?: number | undefined
  /** The times of answers that are sent while things happen. */
  readonly streams?: Pick<EventStreamsOptions, 'heartbeatMilliseconds' | 'reservationMilliseconds'> | undefined
}

/** The path of Yoga's plugin for the same protocol. */
const path = '/graphql/stream'

/** Serves clients that receive all their operations over one connection: graphql-sse's single connection mode. */
export function registerStreams(app: FastifyInstance, documents: DocumentFinder, options: StreamRouteOptions): void {
  const { services, operations, authenticate, introspection, maxSubscriptionsPerKey } = options
  const streams = createEventStreams({ ...options.streams, authenticate, maxPerKey: maxSubscriptionsPerKey })
  app.addHook('preClose', async () => streams.close())

  const onRequest = async (request: FastifyRequest) => {
    await authenticate(request)
  }

  /** Runs an operation. Returns its result, or the results of a subscription. An error is a result too. */
  async function run(
    request: FastifyRequest,
    reply: FastifyReply,
    params: GraphQLParams,
    { signal, onFlushed }: StreamedOperation,
    onSent: (done: () => void) => void,
  ): Promise<SubscriptionAnswer['events']> {
    const { query, operationName, variables = {} } = params
    const { statements, bodyLength, log, trace } = request
    const viewer = viewerOf(request)
    try {
      const idempotencyKey = readIdempotencyKey(request, [query, operationName, variables])
      const isAbandoned = () => statements.isAbandoned === true
      const { operation, errors } = await operations.prepareFor(viewer, query, operationName, isAbandoned)
      if (errors) return { errors: errors.map((error) => toClientError(error, log)) }
      request.operationName = operation.name
      documents.store(params)
      const shared = { operation, variables, bodyLength, onSent }
      if (operation.kind !== 'subscription') {
        const context = createContext(services, viewer, log, trace)
        const { result, headers } = await operations.run({ ...shared, statements, context, idempotencyKey })
        reply.headers(headers)
        return result
      }
      const { events, headers } = await operations.subscribe({
        // The subscription outlives this request, its count of statements and its trace.
        ...{ ...shared, statements: { statements: 0 }, context: createContext(services, viewer, log) },
        ...{ signal, onFlushed, checkKey: () => authenticate(request) },
      })
      reply.headers(headers)
      return events
    } catch (error) {
      // graphql-sse would send a rejected request again, and hide why.
      if (error instanceof GatewayError) reply.headers(error.headers)
      return { errors: [toClientError(error, log)] }
    }
  }

  app.put(path, {
    onRequest,
    async handler(request, reply) {
      const token = await streams.reserve(request)
      reply.code(201).type('text/plain; charset=utf-8')
      return token
    },
  })

  app.get(path, {
    onRequest,
    async handler(request, reply) {
      requireEventStream(request.headers.accept)
      const body = streams.find(request).open(reply)
      reply.header('x-accel-buffering', 'no').type('text/event-stream; charset=utf-8')
      releaseSlots(reply)
      return body
    },
  })

  app.post(path, {
    onRequest,
    async handler(request, reply) {
      const stream = streams.find(request)
      if (request.body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
      const params = documents.find(readBodyParams(request.body), request.log)
      const streamed = stream.begin(operationIdOf(params))
      const onSent: (() => void)[] = []
      const results = await run(request, reply, params, streamed, (done) => void onSent.push(done))
      const send = (result: ExecutionResult) => streamed.send(introspection ? result : withoutNames(result, params))
      const sent = sendResults(results, { signal: streamed.signal, send }, request.log).then(() => {
        streamed.onFlushed(() => {
          for (const done of onSent) done()
        })
        return streamed.complete()
      })
      // A client that does not read its stream gets no further requests answered.
      if (!(Symbol.asyncIterator in results)) await sent
      reply.code(streamed.signal.aborted ? 204 : 202)
      return ''
    },
  })

  app.delete(path, {
    onRequest,
    async handler(request) {
      const { operationId } = request.query as { operationId?: unknown }
      streams.find(request).stop(String(operationId))
      return ''
    },
  })
}

/** @throws GatewayError MALFORMED_REQUEST if the id is missing */
function operationIdOf({ extensions }: GraphQLParams): string {
  const id = extensions?.['operationId']
  if (typeof id === 'string' && id !== '') return id
  throw new GatewayError('MALFORMED_REQUEST', 'extensions.operationId must be a string: an id of the operation.')
}
