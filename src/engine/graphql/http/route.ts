import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../../errors.ts'
import { compressResponse } from '../../http/compression.ts'
import { wantsPage } from '../../http/pages/page.ts'
import { registerRoutes } from '../../http/plugin.ts'
import { toHttpError } from '../../http/plugins/error-handler.ts'
import { readIdempotencyKey, viewerOf } from '../../http/request.ts'
import { resultOfError } from '../operation/client-error.ts'
import { type BatchOptions, createBatch, isBatch, malformedBatch } from './batch.ts'
import { createGraphiql, filesPath } from './graphiql.ts'
import { createGraphiqlHint } from './graphiql-hint.ts'
import { isJsonType, type JsonType, negotiate, statusOf, statusOfError, wantsApolloMultipart } from './negotiate.ts'
import { type GraphQLParams, idempotencyKeyIn, readBodyParams, readQueryParams } from './params.ts'
import { createResponder, type ResponderOptions } from './responder.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

export interface GraphQLOptions extends ResponderOptions, Pick<BatchOptions, 'tracing' | 'places'> {
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** Whether an array of operations is executed. */
  readonly batching: boolean
  /** The documents of clients. Without them every document is executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** The key of the demo tenant, which GraphiQL shows to browsers on this machine. */
  readonly demoKey?: string | undefined
}

/** Serves /graphql: operations for clients, GraphiQL for browsers. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { authenticate, documents } = options
  const graphiql = options.graphiql ? createGraphiql(options.demoKey) : undefined
  const withoutGraphiql = createGraphiqlHint(options.trustedDocuments?.others === 'reject')
  const response = createResponder(options)
  const logOf = (requestId: string) => app.log.child({ requestId })
  const batch = options.batching ? createBatch({ ...options, logOf }) : undefined

  // An array that is no batch is malformed as a whole.
  const hasErrorEach = options.batching ? isBatch : isShortArray

  app.setErrorHandler((error, request, reply) => sendError(reply, toHttpError(error, request), hasErrorEach))

  registerRoutes(app, (routes) => {
    routes.get('/graphql', {
      onSend: compressResponse,
      async onRequest(request) {
        if (!wantsPage(request)) await authenticate(request)
      },
      async handler(request, reply) {
        if (!request.viewer) return graphiql ? graphiql.page(request, reply) : withoutGraphiql(reply)
        const params = readQueryParams(request.query as Record<string, unknown>)
        return response(request, reply, documents.find(params, request.viewer.tenantAppId, request.log))
      },
    })

    if (graphiql) routes.get(`${filesPath}/:name`, graphiql.file)

    routes.post('/graphql', {
      onSend: compressResponse,
      async onRequest(request) {
        await authenticate(request)
      },
      async handler(request, reply) {
        const { body } = request
        if (body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
        if (batch && Array.isArray(body)) {
          if (!isBatch(body)) throw malformedBatch(body)
          return batch(request, reply, body)
        }
        const params = documents.find(readBodyParams(body), viewerOf(request).tenantAppId, request.log)
        return response(request, reply, params, readKey(request, params))
      },
    })
  })
}

/**
 * Reads the idempotency key of a request: of its header, or of `extensions`, which batches and WebSockets have too.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a key, or each has another one
 */
function readKey(request: FastifyRequest, params: GraphQLParams) {
  // The document itself, however it was named: a retry may name it by its hash.
  const { query, operationName, variables } = params
  const ofHeader = readIdempotencyKey(request, [query, operationName, variables])
  const ofParams = idempotencyKeyIn(params)
  if (ofHeader && ofParams && ofHeader.key !== ofParams.key) {
    throw new GatewayError(
      'MALFORMED_REQUEST',
      'The header idempotency-key is not the key in extensions.idempotencyKey.',
    )
  }
  return ofHeader ?? ofParams
}

/** The longest array of operations whose operations get an error each, if none is executed. */
const maxArray = 100

function isShortArray(body: unknown): boolean {
  return Array.isArray(body) && body.length > 0 && body.length <= maxArray
}

/**
 * Sends an error in GraphQL's format.
 *
 * @param hasErrorEach whether the operations of a body get the error each
 */
function sendError(reply: FastifyReply, error: GatewayError, hasErrorEach: (body: unknown) => boolean): FastifyReply {
  const { code, headers } = error
  const { body, headers: sent } = reply.request
  const type = jsonTypeOf(code, sent.accept)
  const result = resultOfError(error)
  // The batch links of clients read an array with a result for each operation, and JSON only with the status 200.
  const isArray = Array.isArray(body) && hasErrorEach(body)
  return reply
    .code(isArray ? statusOf(result, type) : statusOfError(error, type))
    .removeHeader('content-encoding')
    .headers(headers)
    .type(`${type}; charset=utf-8`)
    .send(JSON.stringify(isArray ? body.map(() => result) : result))
}

/** The type of an error. Clients read the body only if its type is one of GraphQL's. */
function jsonTypeOf(code: ErrorCode, accept: string | undefined): JsonType {
  // Apollo Client takes a body of the other type for the only result of a subscription, whatever its status, and does
  // not try again.
  if (code === 'SERVICE_UNAVAILABLE' && wantsApolloMultipart(accept)) return 'application/json'
  try {
    const type = negotiate(accept)
    return isJsonType(type) ? type : 'application/json'
  } catch {
    return 'application/json'
  }
}
