import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { GatewayError, ownValue, requireScope } from '@fusion-gateway/base'
import type { Context, Operations, PreparedOperation, Services } from '@fusion-gateway/gateway-kit'
import {
  type Authenticate,
  compressOnce,
  compressResponse,
  contextOf,
  executeOperation,
  isKnown,
  matchesTag,
  type OperationResponse,
  type Precondition,
  readIdempotencyKey,
  readsAnew,
  respondConditionally,
  type SentResult,
  strongTag,
  tagOf,
  viewerOf,
  weakTag,
} from '@fusion-gateway/gateway-kit'
import { prefixOf, routePlugin } from '@fusion-gateway/http'
import type { Values } from '@fusion-gateway/pothos-trees'
import { fieldNamed, metadataOf } from '@fusion-gateway/pothos-trees'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import type { Route, RouteInput } from './route.ts'
import { readOf, routes } from './routes.ts'
import {
  checkVariables,
  dataOf,
  encode,
  notFound,
  preconditionFailed,
  type StoredOperation,
  storeOperation,
  valueAt,
} from './stored-operation.ts'
import { awaitChange, preferredWait } from './wait.ts'

export interface RestOptions {
  readonly services: Services
  readonly operations: Operations
  readonly authenticate: Authenticate
}

export const rest = routePlugin<RestOptions>('rest', (app, options) => {
  for (const route of routes) serveRoute(app, route, options)
})

interface StoredRoute {
  readonly route: Route
  readonly stored: StoredOperation
}

interface ServedRoute extends StoredRoute, RestOptions {
  /** The route that reads what this one writes. */
  readonly read: StoredRoute | undefined
}

function serveRoute(app: FastifyInstance, route: Route, options: RestOptions): void {
  const { operations, authenticate } = options
  const stored = storeOperation(operations, route.operation, route.response)
  const { operation } = stored
  const deprecation = deprecationHeaders(operations.schema, operation)
  const reading = readOf(route)
  const read = reading && { route: reading, stored: storeOperation(operations, reading.operation, reading.response) }
  const served = { ...options, route, stored, read }
  app.route({
    method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
    url: route.url,
    onSend: compressResponse,
    async onRequest(request, reply) {
      reply.headers(deprecation)
      const ignored = ignoredParametersOf(request, route)
      if (ignored !== '') reply.header('x-ignored-parameters', ignored)
      await authenticate(request)
      // REST has no partial responses, so the viewer needs every scope.
      for (const scope of operation.scopes) requireScope(viewerOf(request), scope)
      if (route.method === 'GET' || request.headers['if-match'] === undefined) return
      if (!read) throw new GatewayError('MALFORMED_REQUEST', 'This route does not take the header if-match.')
      // Whether the condition holds says what the resource is.
      for (const scope of read.stored.operation.scopes) requireScope(viewerOf(request), scope)
    },
    async handler(request, reply) {
      const variables = checkVariables(route, stored, route.variables(request as RouteInput))
      return route.connection === undefined
        ? respondWithOne(served, reply, variables)
        : respondWithList(served, reply, variables, route.connection)
    },
  })
}

async function respondWithOne(served: ServedRoute, reply: FastifyReply, variables: Values) {
  const { route, stored, operations } = served
  const { request } = reply
  if (route.method === 'GET')
    return respondConditionallyTo(served, reply, variables, (response) => oneOf(served, response))
  const response = await operations.runOperation(requestOf(served, request, variables))
  reply.headers(response.headers)
  const value = shownValue(route, response)
  if (route.method === 'DELETE') {
    reply.code(204)
    return undefined
  }
  if (route.location) {
    reply.code(201).header('location', prefixOf(request) + route.location(value as { id: string }))
  }
  reply.type('application/json; charset=utf-8')
  // Not the reply: a handler that returns it waits until the response is sent.
  return bodyOf(route, stored, value)
}

/** What a client of a GET gets. */
interface Representation {
  readonly body: string
  readonly etag: string
  /** The header `Link` of a page. */
  readonly link?: string
}

/** Responds to a GET whose response has a tag, and waits before if the client prefers another response than it has. */
async function respondConditionallyTo(
  served: ServedRoute,
  reply: FastifyReply,
  variables: Values,
  represent: (response: OperationResponse) => Representation,
) {
  const { operations, route, authenticate } = served
  const { request } = reply
  const toRun = requestOf(served, request, variables)
  const seconds = preferredWait(request)
  const following = seconds === undefined ? undefined : operations.follow(toRun)
  let response: OperationResponse | undefined
  if (seconds !== undefined && following) {
    const responses = await following
    reply.header('preference-applied', `wait=${seconds}`)
    const sent = await awaitChange(responses, seconds, (result) => isKnown(request, represent(ofSent(result)).etag))
    response = sent && ofSent(sent)
    // The key can have been revoked meanwhile.
    await authenticate(request)
  }
  response ??= await operations.runOperation(toRun)
  reply.headers(response.headers)
  const { body, etag, link } = represent(response)
  if (link) reply.header('link', link)
  compressKept(route, reply, response, body)
  return respondConditionally(request, reply, body, 'viewer', etag)
}

const ofSent = ({ result, length }: SentResult): OperationResponse => ({ result, length, isStored: false, headers: {} })

function shownValue(route: Route, { result }: OperationResponse): unknown {
  const value = valueAt(dataOf(route, result), route.response)
  if (value == null) throw notFound()
  return value
}

function oneOf({ route, stored }: ServedRoute, response: OperationResponse): Representation {
  const [body = '', tag = ''] = derive(route, response, 'value', () => {
    const body = bodyOf(route, stored, shownValue(route, response))
    return [body, tagOf(body)]
  })
  return { body, etag: route.version === undefined ? weakTag(tag) : strongTag(tag) }
}

async function respondWithList(served: ServedRoute, reply: FastifyReply, variables: Values, connection: string) {
  const { route, stored } = served
  const { request } = reply
  const input = request as RouteInput
  const { query } = input
  const pageOf = (result: ExecutionResult) => toPage(route, stored, connection, dataOf(route, result))
  if (route.streams && query['limit'] === undefined && query['cursor'] === undefined) {
    return respondWithWhole(served, reply, { variables, connection, pageOf })
  }
  return respondConditionallyTo(served, reply, variables, (response) => {
    const [body = '', next] = bodyOfPage(route, response, pageOf)
    const link = next === undefined ? '' : `<${prefixOf(request)}${urlOfPage(route, input, next)}>; rel="next"`
    const [tag = ''] = derive(route, response, `tag ${link}`, () => [tagOf(body, link)])
    return { body, link, etag: weakTag(tag) }
  })
}

type PageOf = (result: ExecutionResult) => Page

const keyOfList = ({ listKey = 'items' }: Route) => listKey

/** The body of a page, and the cursor of the next one. */
function bodyOfPage(route: Route, response: OperationResponse, pageOf: PageOf) {
  return derive(route, response, 'page', () => {
    const { items, next } = pageOf(response.result)
    return [JSON.stringify({ [keyOfList(route)]: items }), ...(next === undefined ? [] : [next])]
  })
}

interface WholeList {
  readonly variables: Values
  readonly connection: string
  readonly pageOf: PageOf
}

/** Responds with a whole list: one that has several pages is streamed. */
async function respondWithWhole(
  served: ServedRoute,
  reply: FastifyReply,
  { variables, connection, pageOf }: WholeList,
) {
  const { route, operations, services, authenticate } = served
  const { request } = reply
  const goesOn = ({ data }: ExecutionResult) => data != null && hasNextPage(data, connection)
  // The cursor keeps it apart from a page of the same length: of the whole list, a part is not kept.
  const pageRequest = (after: string | null) => requestOf(served, request, { ...variables, first: maxPageSize, after })
  const response = await operations.runOperation({ ...pageRequest(null), goesOn })
  reply.headers(response.headers)
  const { points } = request.held
  if (response.kept || !goesOn(response.result)) {
    const [body = ''] = bodyOfPage(route, response, pageOf)
    // Without a tag, as a streamed one has none.
    compressKept(route, reply, response, body)
    if (request.method === 'HEAD') reply.headers(points?.dropResponse() ?? {})
    reply.type('application/json; charset=utf-8')
    return body
  }
  const first = pageOf(response.result)
  reply.type('application/json; charset=utf-8')
  if (request.method === 'HEAD') {
    await points?.settle()
    return reply.headers(points?.headers ?? {}).send()
  }
  // What the first page may cost covers the whole list.
  return streamList(keyOfList(route), first, async (after) => {
    // If the key is revoked meanwhile, no further page is read.
    await authenticate(request)
    const read = () => operations.executeAdmitted(pageRequest(after))
    const { result } = await services.queues.operations.run(viewerOf(request), read)
    if (!goesOn(result)) await points?.settle()
    return pageOf(result)
  })
}

/** Makes texts of a response: once if it is kept. */
function derive({ url }: Route, { kept }: OperationResponse, name: string, make: () => readonly string[]) {
  const fullName = `${url} ${name}`
  const known = kept?.find<string>(fullName)
  if (known) return known
  const made = make()
  kept?.add(fullName, made)
  return made
}

function compressKept({ url }: Route, reply: FastifyReply, { kept }: OperationResponse, body: string): void {
  if (kept) compressOnce(reply, { kept, name: `${url} body`, start: body, rest: '', body })
}

// Each page has its own context, so that its rows are forgotten after it.
const requestOf = ({ stored, read, services }: ServedRoute, request: FastifyRequest, variables: Values) => ({
  operation: stored.operation,
  variables,
  context: contextOf(request, services),
  statements: request.statements,
  bodyLength: request.bodyLength,
  readsAnew: readsAnew(request),
  held: request.held,
  idempotencyKey: readIdempotencyKey(request, contentOf(request)),
  precondition: read && preconditionOf(request, read, variables),
})

/** The longest text of the header `x-ignored-parameters`. */
const maxIgnoredLength = 500

/**
 * The names of the query parameters that the route does not read, in percent-encoding. Clients of the earlier service
 * may send some, so they are not rejected, but `?email=a` would seem to be a filter.
 *
 * @returns an empty text if there are none
 */
function ignoredParametersOf({ url, query }: FastifyRequest, { parameters }: Route): string {
  if (!url.includes('?')) return ''
  const known = new Set(parameters.filter((one) => one.in === 'query').map(({ name }) => name))
  const ignored = Object.keys(query as object).filter((name) => !known.has(name))
  return ignored
    .map((name) => encodeURIComponent(name.toWellFormed()))
    .join(', ')
    .slice(0, maxIgnoredLength)
}

function bodyOf({ listKey }: Route, { shape }: StoredOperation, value: unknown): string {
  const response = encode(shape, value)
  return JSON.stringify(listKey === undefined ? response : { [listKey]: response })
}

/** What two requests with the same idempotency key must have in common, besides the method and the URL. */
function contentOf({ body, headers: { 'if-match': condition } }: FastifyRequest): unknown {
  return condition === undefined ? body : [body, condition]
}

/**
 * The precondition of a write with `If-Match`: the resource is as GET has returned it. The mutation itself checks that
 * the resource has not changed since it was compared, so no other write comes in between. For `*` the resource has to
 * exist.
 *
 * @param variables those of the mutation
 * @returns undefined without the header
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
function preconditionOf(
  request: FastifyRequest,
  { route, stored }: StoredRoute,
  variables: Values,
): Precondition | undefined {
  const condition = request.headers['if-match']
  if (condition === undefined) return undefined
  const { operation } = stored
  const readVariables = route.variables(request as RouteInput)
  return {
    cost: operation.costOf(readVariables),
    async check(context: Context) {
      // With its own loaders, because the mutation reads again what it has written.
      const apart = { ...context, ...context.within(context.sql) }
      const data = dataOf(route, await executeOperation({ operation, variables: readVariables, context: apart }))
      const [root = ''] = route.response.split('.')
      // Without the header, this would be the response too.
      if (valueAt(data, root) == null) throw notFound()
      const value = valueAt(data, route.response)
      if (value == null) throw preconditionFailed()
      if (condition.trim() === '*') return variables
      if (!matchesTag(condition, tagOf(bodyOf(route, stored, value)))) throw preconditionFailed()
      const expectedUpdatedAt = valueAt(data, route.version ?? '')
      return { ...variables, input: { ...(variables['input'] as object), expectedUpdatedAt } }
    },
  }
}

interface PageInfo {
  readonly hasNextPage: boolean
  readonly endCursor: string | null
}

const pageInfoOf = (data: object, connection: string) => valueAt(data, `${connection}.pageInfo`) as PageInfo | undefined

function hasNextPage(data: object, connection: string): boolean {
  return pageInfoOf(data, connection)?.hasNextPage === true
}

function toPage({ response }: Route, { shape }: StoredOperation, connection: string, data: object): Page {
  const page = pageInfoOf(data, connection)
  if (!page) throw notFound()
  const { hasNextPage, endCursor } = page
  return {
    items: encode(shape, valueAt(data, response)) as unknown[],
    next: hasNextPage && endCursor !== null ? endCursor : undefined,
  }
}

/** The URL of the page at a cursor, with the other parameters of this request. */
function urlOfPage({ url, parameters }: Route, { params, query }: RouteInput, cursor: string): string {
  const search = new URLSearchParams()
  for (const { in: place, name } of parameters) {
    const values = [name === 'cursor' ? cursor : (ownValue(query, name) ?? [])].flat()
    if (place === 'query') for (const value of values) search.append(name, value)
  }
  const path = url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(ownValue(params, name) ?? ''))
  return `${path}?${search}`
}

/**
 * The headers of a route that selects deprecated fields: since when the first one is deprecated, and when the first one
 * can be removed. Empty if none is.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9745 and https://www.rfc-editor.org/rfc/rfc8594
 */
function deprecationHeaders(schema: GraphQLSchema, { summary }: PreparedOperation): Record<string, string> {
  const deprecations = [...summary.fields].flatMap(
    (name) => metadataOf(fieldNamed(schema, name) ?? {}).deprecation ?? [],
  )
  const [since] = deprecations.map((one) => one.since).sort()
  const [sunset] = deprecations.map((one) => one.sunset).sort()
  if (since === undefined || sunset === undefined) return {}
  return { deprecation: `@${Date.parse(since) / 1_000}`, sunset: new Date(sunset).toUTCString() }
}

interface Page {
  readonly items: readonly unknown[]
  /** The cursor of the next page; undefined if this is the last one. */
  readonly next: string | undefined
}

/**
 * Streams a whole list as the only key of a JSON object: `{"users":[…]}`. It holds one page at a time, reads the next
 * one when the client has received the last, and stops when the client goes away. If a page fails, the stream is
 * destroyed, so that the client sees a closed connection and not a list that looks complete.
 *
 * @param first the first page. An error in it can still become a status
 */
export function streamList(key: string, first: Page, readPage: (cursor: string) => Promise<Page>): Readable {
  async function* chunks() {
    let page = first
    let separator = `{${JSON.stringify(key)}:[`
    for (;;) {
      const { items, next } = page
      yield separator + items.map((item) => JSON.stringify(item)).join(',')
      if (next === undefined) break
      // The embedded database reads a page without waiting, so this lets other requests run in between.
      await setImmediate()
      page = await readPage(next)
      separator = page.items.length > 0 ? ',' : ''
    }
    yield ']}'
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 1 })
}
