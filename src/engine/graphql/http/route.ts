import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../../errors.ts'
import { wantsPage } from '../../http/pages/page.ts'
import { registerRoutes } from '../../http/plugin.ts'
import { toHttpError } from '../../http/plugins/error-handler.ts'
import { type Authenticate, onFlushed, onUnread, readsAnew, viewerOf } from '../../http/request.ts'
import { compressOnce, compressResponse } from '../../http/response-body.ts'
import { resultOfError } from '../operation/execute.ts'
import { WrittenResult } from '../operation/written-result.ts'
import { type BatchOptions, createBatch, isBatch, malformedBatch } from './batch.ts'
import { createDocumentRunner } from './document-runner.ts'
import { createGraphiql, createGraphiqlHint, filesPath } from './graphiql.ts'
import {
  isJsonType,
  type JsonType,
  type MediaType,
  negotiate,
  type Results,
  statusOf,
  statusOfError,
  subscriptionProtocol,
  wantsApolloMultipart,
} from './negotiate.ts'
import { type GraphQLParams, readBodyParams, readKey, readQueryParams } from './params.ts'
import type { TrustedDocuments } from './trusted-documents.ts'
import type { createYogaSender } from './yoga.ts'

export interface GraphQLOptions extends Omit<BatchOptions, 'logOf'> {
  readonly authenticate: Authenticate
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat. */
  readonly heartbeatMilliseconds: number
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** The folder of the operations that GraphiQL opens in tabs. */
  readonly tabs: string
  /** Whether an array of operations is executed. */
  readonly batching: boolean
  /** The documents of clients. Without them every document is executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** The key of the demo tenant, which GraphiQL shows to browsers on this machine. */
  readonly demoKey?: string | undefined
}

/** Serves /graphql: operations for clients, GraphiQL for browsers. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { authenticate, documents, steps } = options
  const graphiql = options.graphiql ? createGraphiql(options) : undefined
  const withoutGraphiql = createGraphiqlHint(options.trustedDocuments?.others === 'reject')
  const runner = createDocumentRunner(options)
  const send = createSender(options.heartbeatMilliseconds)
  const logOf = (requestId: string) => app.log.child({ requestId })
  const batch = options.batching ? createBatch({ ...options, logOf }) : undefined

  // An array that is no batch is malformed as a whole.
  const hasErrorEach = options.batching ? isBatch : isShortArray

  app.setErrorHandler((error, request, reply) => sendError(reply, toHttpError(error, request), hasErrorEach))

  /** A request from its parameters to its response: read, prepare, admit and execute, write. */
  async function serve(request: FastifyRequest, reply: FastifyReply, sent: GraphQLParams) {
    const viewer = viewerOf(request)
    const { method, bodyLength } = request
    const { accept } = request.headers
    const params = documents.find(sent, viewer.tenantAppId, request.log)
    const idempotencyKey = method === 'POST' ? readKey(request, params) : undefined
    const type = negotiate(accept)

    const { operation, errors, isBadRequest } = await runner.prepare(request, params)
    if (errors) return send(reply, type, { errors }, isBadRequest ? 400 : undefined)
    if (operation.kind === 'mutation' && method === 'GET') return rejectMutationByGet(reply, type)
    const toSend = operation.kind === 'subscription' ? subscriptionProtocol(accept) : type

    const reader = { checkKey: () => authenticate(request), onFlushed: onFlushed(reply), onUnread: onUnread(reply) }
    const toRun = { operation, params, bodyLength, idempotencyKey, readsAnew: readsAnew(request), reader }
    const { results, headers, isLong } = await runner.run(request, toRun)

    reply.headers(headers)
    // The length of a compressed response can reveal a secret in it to someone who chooses a part of the response
    // (BREACH).
    if (operation.showsSecrets) reply.header('cache-control', 'no-store, no-transform')
    return isLong ? steps.run(viewer, () => send(reply, toSend, results)) : send(reply, toSend, results)
  }

  registerRoutes(app, (routes) => {
    routes.get('/graphql', {
      onSend: compressResponse,
      async onRequest(request) {
        if (!wantsPage(request)) await authenticate(request)
      },
      async handler(request, reply) {
        if (!request.viewer) return graphiql ? graphiql.page(request, reply) : withoutGraphiql(reply)
        return serve(request, reply, readQueryParams(request.query as Record<string, unknown>))
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

/** Returns a function that writes results in a media type, and returns the body. Yoga writes what is not JSON. */
function createSender(heartbeatMilliseconds: number) {
  // Yoga is a fifth of all modules. Clients that ask only for JSON never need it.
  let yogaSender: Promise<ReturnType<typeof createYogaSender>> | undefined
  const sendByYoga: ReturnType<typeof createYogaSender> = async (...response) => {
    yogaSender ??= import('./yoga.ts').then(({ createYogaSender }) => createYogaSender(heartbeatMilliseconds))
    return (await yogaSender)(...response)
  }
  return async (
    reply: FastifyReply,
    type: MediaType,
    results: Results,
    status = statusOf(results, type),
  ): Promise<string | ReadableStream | null> => {
    reply.code(status)
    if (!isJsonType(type)) return sendByYoga(reply, type, WrittenResult.toObject(results))
    reply.type(`${type}; charset=utf-8`)
    if (!(results instanceof WrittenResult)) return JSON.stringify(results)
    const { kept, json } = results
    const body = json.start + json.rest
    compressOnce(reply, { kept, name: 'data', ...json, body })
    return body
  }
}

/** The message is that of Yoga. */
function rejectMutationByGet(reply: FastifyReply, type: MediaType): string {
  const message = 'Can only perform a mutation operation from a POST request.'
  const contentType = isJsonType(type) ? type : 'application/json'
  reply.code(405).header('allow', 'POST').type(`${contentType}; charset=utf-8`)
  return JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] })
}
