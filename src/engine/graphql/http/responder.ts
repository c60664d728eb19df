import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../context.ts'
import { type Authenticate, contextOf, onFlushed, onSent, onUnread, viewerOf } from '../../http/request.ts'
import { clientOf } from '../../telemetry/usage/client.ts'
import { toClientError } from '../operation/client-error.ts'
import type { IdempotencyKey } from '../operation/execute-once.ts'
import { longResponse } from '../operation/response-length.ts'
import type { Operations } from '../operation/run.ts'
import type { DocumentFinder } from './documents.ts'
import { showResults } from './hide-names.ts'
import { isJsonType, type MediaType, negotiate, type Results, statusOf, subscriptionProtocol } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'
import type { createYogaSender } from './yoga.ts'

export interface ResponderOptions {
  readonly services: Services
  readonly operations: Operations
  readonly authenticate: Authenticate
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat. */
  readonly heartbeatMilliseconds: number
}

/**
 * Creates the function that executes the operation of a request and returns the body of the response. It writes JSON itself; Yoga
 * writes everything else.
 */
export function createResponder(documents: DocumentFinder, options: ResponderOptions) {
  const { services, operations, authenticate } = options
  const send = createSender(options)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    params: GraphQLParams,
    idempotencyKey?: IdempotencyKey,
  ) => {
    const { headers, statements, bodyLength } = request
    const type = negotiate(headers.accept)
    const viewer = viewerOf(request)
    const isAbandoned = () => statements.isAbandoned === true
    const { query, operationName } = params
    const prepared = await operations.prepareFor(viewer, query, operationName, isAbandoned, clientOf(headers))
    if (prepared.errors) {
      const errors = prepared.errors.map((error) => toClientError(error, request.log))
      return send(reply, type, params, { errors }, prepared.isBadRequest ? 400 : undefined)
    }
    const { operation } = prepared
    request.operationName = operation.name
    documents.store(params, viewer.tenantAppId)
    if (operation.kind === 'mutation' && request.method === 'GET') return rejectMutationByGet(reply, type)
    const { variables = {} } = params
    const context = contextOf(request, services)
    const toRun = { operation, variables, context, statements, bodyLength, onSent: onSent(reply), idempotencyKey }
    if (operation.kind === 'subscription') {
      const protocol = subscriptionProtocol(headers.accept)
      const checkKey = () => authenticate(request)
      const reader = { onFlushed: onFlushed(reply), onUnread: onUnread(reply) }
      const started = await operations.subscribe({ ...toRun, ...reader, checkKey })
      reply.headers(started.headers)
      return send(reply, protocol, params, started.events)
    }
    const { result, length, headers: resultHeaders } = await operations.run(toRun)
    reply.headers(resultHeaders)
    // The length of a compressed response can reveal a secret in it to someone who chooses a part of the response (BREACH).
    if (operation.showsSecrets) reply.header('cache-control', 'no-store, no-transform')
    const sendResult = () => send(reply, type, params, result)
    return length > longResponse ? services.queues.steps.run(viewer, sendResult) : sendResult()
  }
}

/** Creates the function that writes results in a media type, and returns the body. */
function createSender({ introspection, heartbeatMilliseconds }: ResponderOptions) {
  // Yoga is a fifth of all modules. Clients that ask only for JSON never need it.
  let yogaSender: Promise<ReturnType<typeof createYogaSender>> | undefined
  const sendByYoga: ReturnType<typeof createYogaSender> = async (...response) => {
    yogaSender ??= import('./yoga.ts').then(({ createYogaSender }) => createYogaSender(heartbeatMilliseconds))
    return (await yogaSender)(...response)
  }
  return async (
    reply: FastifyReply,
    type: MediaType,
    params: GraphQLParams,
    results: Results,
    status = statusOf(results, type),
  ): Promise<string | ReadableStream | null> => {
    const shown = introspection ? results : showResults(results, params)
    reply.code(status)
    if (!isJsonType(type)) return sendByYoga(reply, type, shown)
    reply.type(`${type}; charset=utf-8`)
    return JSON.stringify(shown)
  }
}

/** The message is that of Yoga. */
function rejectMutationByGet(reply: FastifyReply, type: MediaType): string {
  const message = 'Can only perform a mutation operation from a POST request.'
  const contentType = isJsonType(type) ? type : 'application/json'
  reply.code(405).header('allow', 'POST').type(`${contentType}; charset=utf-8`)
  return JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] })
}
