import { type ErrorCode, GatewayError } from '@fusion-gateway/base'
import type { DocumentRequest, Exchange, Results, ServerOptions, TrustedDocuments } from '@fusion-gateway/gateway-kit'
import {
  type Authenticate,
  compressOnce,
  compressResponse,
  type GraphQLParams,
  isJsonType,
  type JsonType,
  negotiate,
  onFlushed,
  onUnread,
  readBodyParams,
  readKey,
  readQueryParams,
  readsAnew,
  resultOfError,
  statusOf,
  statusOfError,
  subscriptionProtocol,
  toHttpError,
  viewerOf,
  WrittenResult,
  wantsApolloMultipart,
} from '@fusion-gateway/gateway-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { wantsPage } from '../pages/page.ts'
import { registerRoutes } from '../plugin.ts'
import { type BatchOptions, createBatch, isBatch, malformedBatch } from './batch.ts'
import { createGraphiqlHint, filesPath, type Graphiql } from './graphiql.ts'

export interface GraphQLOptions extends Omit<BatchOptions, 'logOf'> {
  readonly authenticate: Authenticate
  /** What browsers that open /graphql get. */
  readonly graphiql: Graphiql | undefined
  /** Whether an array of operations is executed. */
  readonly batching: boolean
  /** The documents of clients. Without them every document is executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  readonly plugins?: ServerOptions['plugins']
  /** Whether Yoga serves every request, also where the short cut would do. */
  readonly withoutShortCut?: boolean
}

/** The hooks of plugins that see the request or the response of HTTP, which the short cut does not make. */
const hooksOfHttp = [
  'onYogaInit',
  'onPluginInit',
  'onRequest',
  'onRequestParse',
  'onParams',
  'onExecutionResult',
  'onResultProcess',
  'onResponse',
  'instrumentation',
] as const

/** Serves /graphql: operations for clients, GraphiQL for browsers. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { operations, authenticate, steps, graphiql, plugins = [], withoutShortCut = false } = options
  const hasShortCut = !withoutShortCut && !plugins.some((plugin) => hooksOfHttp.some((hook) => hook in plugin))
  const withoutGraphiql = createGraphiqlHint(options.trustedDocuments?.others === 'reject')
  const logOf = (requestId: string) => app.log.child({ requestId })
  const batch = options.batching ? createBatch({ ...options, logOf }) : undefined

  // An array that is no batch is malformed as a whole.
  const hasErrorEach = options.batching ? isBatch : isShortArray

  app.setErrorHandler((error, request, reply) => sendError(reply, toHttpError(error, request), hasErrorEach))

  async function serve(request: FastifyRequest, reply: FastifyReply, params: GraphQLParams) {
    const { method, bodyLength } = request
    const { accept } = request.headers
    const type = negotiate(accept)
    let isLong = false

    async function execute(found: GraphQLParams, context?: object) {
      let toSend = type
      const document: DocumentRequest = {
        state: request,
        params: found,
        bodyLength,
        readsAnew: readsAnew(request),
        keyOf: (params) => (method === 'POST' ? readKey(request, params) : undefined),
        streams: type === 'text/event-stream' || wantsApolloMultipart(accept),
        accept({ showsSecrets }, hasSeveral) {
          if (hasSeveral) toSend = subscriptionProtocol(accept)
          // The length of a compressed response can reveal a secret in it to someone who chooses a part of the response
          // (BREACH).
          if (showsSecrets) reply.header('cache-control', 'no-store, no-transform')
        },
        reader: { checkKey: () => authenticate(request), onFlushed: onFlushed(reply), onUnread: onUnread(reply) },
      }
      const response = await operations.runDocument(document, context)
      const { results, headers, status = statusOf(results, toSend) } = response
      reply.code(status).headers(headers)
      isLong = response.isLong
      // A mutation by GET.
      if (status === 405 && !isJsonType(type)) toSend = 'application/json'
      return { results, type: toSend }
    }

    const write = (results: Results) => {
      const writeNow = async () => toJson(reply, results)
      return isLong ? steps.run(viewerOf(request), writeNow) : writeNow()
    }

    // The short cut: Yoga's Request and Response cost more than all the rest of a small request.
    if (!hasShortCut || method !== 'POST' || !isJsonType(type)) {
      return serveByYoga({ request, reply, params, execute, write })
    }
    const executed = await execute(params)
    if (!isJsonType(executed.type)) return serveByYoga({ request, reply, execute: async () => executed })
    reply.type(`${type}; charset=utf-8`)
    return write(executed.results)
  }

  async function serveByYoga(exchange: Exchange) {
    return (await operations.server()).serve(exchange)
  }

  registerRoutes(app, (routes) => {
    routes.get('/graphql', {
      onSend: compressResponse,
      async onRequest(request) {
        if (!wantsPage(request)) await authenticate(request)
      },
      async handler(request, reply) {
        if (!request.viewer) {
          if (!graphiql) return withoutGraphiql(reply)
          return serveByYoga({ request, reply, graphiql: graphiql.optionsFor(request, reply) })
        }
        return serve(request, reply, readQueryParams(request.query as Record<string, unknown>))
      },
    })

    if (graphiql) routes.get(`${filesPath}/:name`, graphiql.file)

    routes.post('/graphql', {
      onSend: compressResponse,
      onRequest: authenticate,
      async handler(request, reply) {
        const { body } = request
        if (body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
        if (batch && Array.isArray(body)) {
          if (!isBatch(body)) throw malformedBatch(body)
          return batch(request, reply, body)
        }
        return serve(request, reply, readBodyParams(body))
      },
    })
  })
}

/** The longest array of operations whose operations get an error each, if none is executed. */
const maxArray = 100

function isShortArray(body: unknown): boolean {
  return Array.isArray(body) && body.length > 0 && body.length <= maxArray
}

/** @param hasErrorEach whether the operations of a body get the error each */
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

function toJson(reply: FastifyReply, result: Results): string {
  if (!(result instanceof WrittenResult)) return JSON.stringify(result)
  const { kept, json } = result
  const body = json.start + json.rest
  compressOnce(reply, { kept, name: 'data', ...json, body })
  return body
}
