import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { errorCodes, GatewayError } from '../../errors.ts'
import { compressAnswer } from '../../http/compression.ts'
import { readIdempotencyKey } from '../../http/idempotency-key.ts'
import { wantsPage } from '../../http/pages/page.ts'
import { toHttpError } from '../../http/plugins/error-handler.ts'
import { contextOf, onFlushed, onSent, viewerOf } from '../../http/request.ts'
import { registerRoutes } from '../../http/routes.ts'
import { longAnswer } from '../operation/answer-length.ts'
import { toClientError } from '../operation/client-error.ts'
import type { IdempotencyKey } from '../operation/execute-once.ts'
import type { OperationRequest } from '../operation/operation-request.ts'
import type { PreparedOperation } from '../operation/prepare/prepare.ts'
import { statusOf, withoutNames } from './client-result.ts'
import { createDocumentFinder } from './documents.ts'
import { createGraphiql, createGraphiqlHint, filesPath } from './graphiql.ts'
import { isJsonType, type JsonType, type MediaType, negotiate, requireEventStream } from './negotiate.ts'
import { type GraphQLParams, readBodyParams, readQueryParams } from './params.ts'
import { answerMultipart, wantsMultipart } from './streams/multipart.ts'
import { registerStreams, type StreamRouteOptions } from './streams/stream-route.ts'
import type { TrustedDocuments } from './trusted-documents.ts'
import { createYogaAnswers } from './yoga.ts'

export interface GraphQLOptions extends StreamRouteOptions {
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** The documents of clients. Without them every document is executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** The key of the demo tenant, which GraphiQL shows to browsers on this machine. */
  readonly demoKey?: string | undefined
}

/** Serves /graphql: operations for clients, GraphiQL for browsers. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { services, operations, authenticate, introspection } = options
  const { turns } = services
  const documents = createDocumentFinder(options.trustedDocuments)
  const graphiql = options.graphiql ? createGraphiql(options.demoKey) : undefined
  const withoutGraphiql = createGraphiqlHint()
  const answerByYoga = createYogaAnswers(app.log, options)

  app.setErrorHandler((error, request, reply) => sendError(reply, toHttpError(error, request)))

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    params: GraphQLParams,
    idempotencyKey?: IdempotencyKey,
  ) {
    const type = negotiate(request.headers.accept)
    const viewer = viewerOf(request)
    const prepared = await operations.prepareFor(
      viewer,
      params.query,
      params.operationName,
      () => request.statements.isAbandoned === true,
    )
    const { operation, errors } = prepared
    if (operation) {
      request.operationName = operation.name
      documents.store(params)
      if (operation.kind === 'mutation' && request.method === 'GET') return rejectMutationByGet(reply, type)
    }
    const toRequest = (valid: PreparedOperation) => requestOf(request, reply, valid, params, idempotencyKey)
    const subscribe = (valid: PreparedOperation, signal: AbortSignal) =>
      operations.subscribe({
        ...toRequest(valid),
        signal,
        onFlushed: onFlushed(reply),
        checkKey: () => authenticate(request),
      })
    if (operation?.kind === 'subscription' && wantsMultipart(request.headers.accept)) {
      const show = (result: ExecutionResult) => (introspection ? result : withoutNames(result, params))
      const start = (signal: AbortSignal) => subscribe(operation, signal)
      return answerMultipart(reply, start, show, options.streams?.heartbeatMilliseconds)
    }
    const isSubscription = operation?.kind === 'subscription'
    if (isSubscription) requireEventStream(request.headers.accept)
    if (!isJsonType(type) || isSubscription) {
      return answerByYoga(request, reply, {
        accept: isSubscription ? 'text/event-stream' : type,
        ...{ params, prepared, subscribe },
        run: (valid) => operations.run(toRequest(valid)),
      })
    }
    if (errors) {
      const result = { errors: errors.map((error) => toClientError(error, app.log)) }
      return sendResult(reply, type, params, result, prepared.isBadRequest ? 400 : undefined)
    }
    const { result, length, headers } = await operations.run(toRequest(operation))
    reply.headers(headers)
    const send = () => sendResult(reply, type, params, result)
    return length > longAnswer ? turns.steps.take(viewer.keyId, send) : send()
  }

  function requestOf(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: PreparedOperation,
    { variables = {} }: GraphQLParams,
    idempotencyKey?: IdempotencyKey,
  ): OperationRequest {
    const { statements, bodyLength } = request
    const context = contextOf(request, services)
    return { operation, variables, context, statements, bodyLength, onSent: onSent(reply), idempotencyKey }
  }

  /** Returns the body. A handler must not return the reply: awaiting it waits until the answer is sent. */
  function sendResult(
    reply: FastifyReply,
    type: JsonType,
    params: GraphQLParams,
    result: ExecutionResult,
    status = statusOf(result, type),
  ): string {
    reply.code(status).type(`${type}; charset=utf-8`)
    return JSON.stringify(introspection ? result : withoutNames(result, params))
  }

  registerRoutes(app, (routes) => {
    routes.get('/graphql', {
      onSend: compressAnswer,
      async onRequest(request) {
        if (!wantsPage(request)) await authenticate(request)
      },
      async handler(request, reply) {
        if (!request.viewer) return graphiql ? graphiql.page(request, reply) : withoutGraphiql(reply)
        const params = readQueryParams(request.query as Record<string, unknown>)
        return answer(request, reply, documents.find(params, request.log))
      },
    })

    if (graphiql) routes.get(`${filesPath}/:name`, graphiql.file)

    routes.post('/graphql', {
      onSend: compressAnswer,
      async onRequest(request) {
        await authenticate(request)
      },
      async handler(request, reply) {
        if (request.body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
        const params = documents.find(readBodyParams(request.body), request.log)
        // The document itself, however it was named: a retry may name it by its hash.
        const { query, operationName, variables } = params
        const idempotencyKey = readIdempotencyKey(request, [query, operationName, variables])
        return answer(request, reply, params, idempotencyKey)
      },
    })

    registerStreams(routes, documents, options)
  })
}

/** Answers an error in GraphQL's format. */
function sendError(reply: FastifyReply, error: GatewayError): FastifyReply {
  const { code, message, details, headers } = error
  return reply
    .code(errorCodes[code].status)
    .removeHeader('content-encoding')
    .headers(headers)
    .type(`${jsonTypeOf(reply.request.headers.accept)}; charset=utf-8`)
    .send(JSON.stringify({ errors: [{ message, extensions: { code, ...details } }] }))
}

/** The type of an error. Clients read the body only if its type is one of GraphQL's. */
function jsonTypeOf(accept: string | undefined): JsonType {
  try {
    const type = negotiate(accept)
    return isJsonType(type) ? type : 'application/json'
  } catch {
    return 'application/json'
  }
}

/** In the words of Yoga. */
function rejectMutationByGet(reply: FastifyReply, type: MediaType): string {
  const message = 'Can only perform a mutation operation from a POST request.'
  const contentType = isJsonType(type) ? type : 'application/json'
  reply.code(405).header('allow', 'POST').type(`${contentType}; charset=utf-8`)
  return JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] })
}
