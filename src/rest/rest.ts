import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../engine/auth/scopes.ts'
import type { Services } from '../engine/context.ts'
import type { OperationRequest } from '../engine/graphql/operation/execute.ts'
import type { Operations } from '../engine/graphql/operation/operations.ts'
import type { Values } from '../engine/graphql/operation/prepare/coerce-variables.ts'
import { maxPageSize } from '../engine/graphql/schema/connection.ts'
import { prefixOf } from '../engine/http/base-url.ts'
import { compressResponse } from '../engine/http/compression.ts'
import { respondConditionally } from '../engine/http/conditional.ts'
import { routePlugin } from '../engine/http/plugin.ts'
import { type Authenticate, contextOf, readIdempotencyKey, viewerOf } from '../engine/http/request.ts'
import { own } from '../engine/own.ts'
import { checkVariables } from './check-variables.ts'
import { deprecationHeaders } from './deprecation-headers.ts'
import type { Route, RouteInput } from './route.ts'
import { dataOf, notFound } from './route-data.ts'
import { routes } from './routes.ts'
import { encode, valueAt } from './shape.ts'
import { type StoredOperation, storeOperation } from './stored-operation.ts'
import { type Page, streamList } from './stream-list.ts'

export interface RestOptions {
  readonly services: Services
  readonly operations: Operations
  readonly authenticate: Authenticate
}

/** Serves the routes of the table. */
export const rest = routePlugin<RestOptions>('rest', (app, options) => {
  for (const route of routes) serveRoute(app, route, options)
  // Otherwise /users/ would be a user with an empty id.
  const withoutId = new Set(routes.filter(({ url }) => url.endsWith('/:id')).map(({ url }) => url.replace(':id', '')))
  for (const url of withoutId) app.all(url, (_request, reply) => reply.callNotFound())
})

function serveRoute(app: FastifyInstance, route: Route, { services, operations, authenticate }: RestOptions): void {
  const stored = storeOperation(operations, route.operation, route.response)
  const { operation } = stored
  const deprecation = deprecationHeaders(operations.schema, operation)

  // Each page has its own context, so that its rows are forgotten after it.
  const requestOf = (request: FastifyRequest, variables: Values): OperationRequest => ({
    operation,
    variables,
    context: contextOf(request, services),
    statements: request.statements,
    bodyLength: request.bodyLength,
    held: request.held,
    idempotencyKey: readIdempotencyKey(request, request.body),
  })

  async function respondWithList(request: FastifyRequest, reply: FastifyReply, variables: Values, connection: string) {
    const { query } = request as RouteInput
    const key = route.listKey ?? 'items'
    const isWhole = route.streams && query['limit'] === undefined && query['cursor'] === undefined
    const page = isWhole ? { first: maxPageSize } : variables
    const { result, headers } = await operations.runOperation(requestOf(request, page))
    reply.headers(headers)
    const first = toPage(route, stored, connection, dataOf(route, result))
    if (!isWhole) {
      if (first.next !== undefined)
        reply.header('link', `<${prefixOf(request)}${urlOfPage(route, query, first.next)}>; rel="next"`)
      return respondConditionally(request, reply, JSON.stringify({ [key]: first.items }))
    }
    reply.type('application/json; charset=utf-8')
    if (request.method === 'HEAD') return reply.send()
    // The cost of the first page covers the whole list.
    return streamList(key, first, async (after) => {
      // If the key is revoked meanwhile, no further page is read.
      await authenticate(request)
      const read = () => operations.executeAdmitted(requestOf(request, { first: maxPageSize, after }))
      const next = await services.queues.operations.run(viewerOf(request), read)
      return toPage(route, stored, connection, dataOf(route, next.result))
    })
  }

  async function respondWithOne(request: FastifyRequest, reply: FastifyReply, variables: Values) {
    const { result, headers } = await operations.runOperation(requestOf(request, variables))
    reply.headers(headers)
    const value = valueAt(dataOf(route, result), route.response)
    if (value == null) throw notFound()
    if (route.method === 'DELETE') {
      reply.code(204)
      return undefined
    }
    if (route.location) {
      reply.code(201).header('location', prefixOf(request) + route.location(value as { id: string }))
    }
    const response = encode(stored.shape, value)
    // Not the reply: a handler that returns it waits until the response is sent.
    const body = JSON.stringify(route.listKey === undefined ? response : { [route.listKey]: response })
    if (route.method === 'GET') return respondConditionally(request, reply, body)
    reply.type('application/json; charset=utf-8')
    return body
  }

  app.route({
    method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
    url: route.url,
    onSend: compressResponse,
    async onRequest(request, reply) {
      reply.headers(deprecation)
      await authenticate(request)
      // REST has no partial responses, so the viewer needs every scope.
      for (const scope of operation.scopes) requireScope(viewerOf(request), scope)
    },
    async handler(request, reply) {
      const variables = checkVariables(route, stored, route.variables(request as RouteInput))
      return route.connection === undefined
        ? respondWithOne(request, reply, variables)
        : respondWithList(request, reply, variables, route.connection)
    },
  })
}

interface PageInfo {
  readonly hasNextPage: boolean
  readonly endCursor: string | null
}

function toPage({ response }: Route, { shape }: StoredOperation, connection: string, data: object): Page {
  const { hasNextPage, endCursor } = valueAt(data, `${connection}.pageInfo`) as PageInfo
  return {
    items: encode(shape, valueAt(data, response)) as unknown[],
    next: hasNextPage && endCursor !== null ? endCursor : undefined,
  }
}

/** The URL of the page at a cursor, with the other parameters of this request. */
function urlOfPage({ url, parameters }: Route, query: RouteInput['query'], cursor: string): string {
  const search = new URLSearchParams()
  for (const { name } of parameters) {
    const value = name === 'cursor' ? cursor : own(query, name)
    if (typeof value === 'string') search.set(name, value)
  }
  return `${url}?${search}`
}
