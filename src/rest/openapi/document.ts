import { STATUS_CODES } from 'node:http'
import { buildVersion, errorCodes, GatewayError, invalidField } from '@fusion-gateway/base'
import type { Preparer } from '@fusion-gateway/gateway-kit'
import { compressResponse, idempotencyKeyPattern, respondConditionally } from '@fusion-gateway/gateway-kit'
import { baseUrlOf, routePlugin, toProblem } from '@fusion-gateway/http'
import { jsonSchemaOf } from '@fusion-gateway/input'
import { isNonNullType } from 'graphql'
import { eventTypes } from '../../domain/event/event.ts'
import { dottedType } from '../../domain/webhook/delivery/payload.ts'
import type { Route } from '../route.ts'
import { readOf, routes } from '../routes.ts'
import { notFound, preconditionFailed, type StoredOperation, storeOperation, typeAt } from '../stored-operation.ts'
import { bodySchema, componentOf, inputSchema, type Json } from './json-schema.ts'
import source from './texts.json' with { type: 'json' }

/** Serves the OpenAPI document. It needs no key, and is created for the first client that asks for it. */
export const openApi = routePlugin<{ preparer: Preparer }>('openApi', (app, { preparer }) => {
  let document: Json | undefined
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    onSend: compressResponse,
    async handler(request, reply) {
      document ??= createOpenApiDocument(preparer)
      // Generated clients need an absolute URL.
      const servers = [{ url: baseUrlOf(request), description: 'The host of this document.' }]
      return respondConditionally(request, reply, JSON.stringify({ ...document, servers }), 'everyone')
    },
  })
})

/**
 * Creates the OpenAPI document of the REST interface: paths from the route table, types from the operations and the
 * GraphQL schema, errors from the registry.
 *
 * @see https://spec.openapis.org/oas/v3.1.0.html
 */
export function createOpenApiDocument(preparer: Preparer): Json {
  const texts = readTexts()
  const schemas: Record<string, Json> = { ...texts.schemas }
  const paths: Record<string, Record<string, Json>> = { ...texts.probes }
  for (const route of routes) {
    const url = route.url.replace(/:(\w+)/g, '{$1}')
    const operation = storeOperation(preparer, route.operation, route.response)
    paths[url] = { ...paths[url], [route.method.toLowerCase()]: describeRoute(route, operation, schemas, texts) }
  }
  const { document, webhooks, headers, securitySchemes } = texts
  const components = { schemas, responses: errorResponses(), headers, securitySchemes }
  return { ...document, paths, webhooks, components }
}

type Texts = typeof source

/** The texts of the document. `$eventTypes` and the like in the file stand for what only the code knows. */
function readTexts(): Texts {
  const values = new Map<unknown, unknown>([
    ['$version', buildVersion()],
    ['$errorCodes', Object.keys(errorCodes)],
    ['$eventTypes', Object.keys(eventTypes)],
    ['$webhookTypes', (Object.keys(eventTypes) as (keyof typeof eventTypes)[]).map(dottedType)],
    ['$idempotencyKey', idempotencyKeyPattern.source],
  ])
  return JSON.parse(JSON.stringify(source), (_, value) => values.get(value) ?? value)
}

/** References to headers of a response: `{ vary: { $ref: '#/components/headers/vary' } }`. */
function headersOf(...names: (keyof Texts['headers'])[]): Record<string, Json> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers of routes that execute an operation, and of those that clients can poll. */
const executed = [
  'x-request-id',
  'x-ignored-parameters',
  'x-cost',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
] as const
const validated = ['etag', 'cache-control', 'preference-applied', 'vary'] as const

function describeRoute(route: Route, stored: StoredOperation, schemas: Record<string, Json>, texts: Texts): Json {
  const { parameters, body } = route
  const isGet = route.method === 'GET'
  const isWrite = stored.operation.kind === 'mutation'
  return {
    operationId: operationId(route),
    tags: [route.url.split('/')[1]],
    summary: route.summary,
    description: `${route.description ?? ''} Scopes: ${stored.operation.scopes.join(', ')}.`.trim(),
    parameters: [
      ...parameters.map(({ in: place, name, variable, description, rules, example }) => ({
        name,
        in: place,
        description,
        // A body can have it instead.
        required: place === 'path' || (isNonNullType(typeAt(stored, variable)) && body?.variable !== variable),
        schema: { ...inputSchema(typeAt(stored, variable)), ...jsonSchemaOf(rules) },
        ...(example !== undefined && { example }),
      })),
      ...(isGet ? [texts.parameters.ifNoneMatch, texts.parameters.prefer] : []),
      ...(isWrite ? [texts.parameters.idempotencyKey] : []),
      ...(readOf(route) ? [texts.parameters.ifMatch] : []),
    ],
    ...(body && {
      requestBody: {
        required: !body.isOptional,
        description: body.description,
        content: {
          'application/json': { schema: bodySchema(body, typeAt(stored, body.variable)), example: body.example },
        },
      },
    }),
    responses: {
      ...successOf(route, stored, schemas, texts.responseExamples),
      ...(isGet && {
        '304': {
          description: 'The response is the same as the one with the ETag in `if-none-match`.',
          headers: headersOf(...executed, ...validated),
        },
      }),
      ...errorsOf(statusesOf(route, isWrite)),
    },
  }
}

/** The response without an error, by its status. */
function successOf(
  route: Route,
  { shape, operation }: StoredOperation,
  schemas: Record<string, Json>,
  examples: Json,
): Record<string, Json> {
  const { method, component, listKey, location, connection } = route
  const ofHeaders = headersOf(
    ...executed,
    ...(location ? (['location'] as const) : []),
    ...(method === 'GET' ? validated : []),
    ...(operation.kind === 'mutation' ? (['idempotent-replayed'] as const) : []),
    ...(connection ? (['link'] as const) : []),
  )
  if (component === undefined) return { '204': { description: 'Deleted.', headers: ofHeaders } }
  const item = componentOf(component, shape, schemas)
  const properties = listKey && { [listKey]: { type: 'array', items: item } }
  const schema = properties ? { type: 'object', properties, required: [listKey] } : item
  const example = examples[component]
  const content = { 'application/json': { schema, example: listKey ? { [listKey]: [example] } : example } }
  return location
    ? { '201': { description: 'Created.', headers: ofHeaders, content } }
    : { '200': { description: 'OK.', headers: ofHeaders, content } }
}

function statusesOf(route: Route, isWrite: boolean): number[] {
  const { parameters, body } = route
  const hasPath = parameters.some((parameter) => parameter.in === 'path')
  const hasInput = body !== undefined || parameters.some((parameter) => parameter.in === 'query')
  return [
    400,
    401,
    403,
    ...(hasPath ? [404] : []),
    408,
    ...(isWrite ? [409] : []),
    ...(readOf(route) ? [412] : []),
    // A GET may have a body that the route does not read.
    413,
    415,
    417,
    ...(hasInput || isWrite ? [422] : []),
    429,
    431,
    500,
    503,
  ]
}

/** `mutation CreateUser(…)` ⇒ `createUser` */
function operationId({ operation }: Route): string {
  const name = /\w+ (\w+)/.exec(operation)?.[1] ?? ''
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** The errors of routes. The first one of a status is its example. */
const errors = [
  new GatewayError('MALFORMED_REQUEST', 'The body is not valid JSON.'),
  new GatewayError('UNAUTHENTICATED', 'Send a valid API key in the header x-api-key.'),
  new GatewayError('FORBIDDEN', 'This needs the scope users:read.'),
  new GatewayError('TENANT_SUSPENDED', 'The tenant is suspended.'),
  notFound(),
  new GatewayError('REQUEST_TIMEOUT', 'The request was not complete in time.'),
  new GatewayError('IDEMPOTENCY_KEY_IN_USE', 'The first request with this idempotency key is still running.'),
  preconditionFailed(),
  new GatewayError('PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.'),
  new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'),
  new GatewayError('EXPECTATION_FAILED', 'The only supported value of the header expect is 100-continue.'),
  invalidField('email', 'REQUIRED', 'is required'),
  new GatewayError('IDEMPOTENCY_KEY_REUSED', 'Another request was sent with this idempotency key.'),
  new GatewayError('RATE_LIMITED', 'The tenant has no points left in this minute.', {
    details: { cost: 41, maximum: 100_000, remaining: 7 },
  }),
  new GatewayError('HEADERS_TOO_LARGE', 'The URL and the headers may have at most 16 KiB together.'),
  new GatewayError('INTERNAL', 'The gateway failed. Its log has the details under the request id.'),
  new GatewayError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Try again shortly.'),
]

/** 404 ⇒ `NotFound` */
const nameOf = (status: number | string) => STATUS_CODES[status]?.replaceAll(' ', '') ?? ''

/** References to the components of statuses: `{ 404: { $ref: '#/components/responses/NotFound' } }`. */
function errorsOf(statuses: readonly number[]): Record<string, Json> {
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]))
}

function errorResponses(): Record<string, Json> {
  const byStatus = Object.entries(Object.groupBy(errors, ({ code }) => errorCodes[code].status))
  return Object.fromEntries(
    byStatus.map(([status, same = []]) => {
      const retries = ['409', '429', '503'].includes(status) ? (['retry-after'] as const) : []
      const example = toProblem(same[0] as GatewayError, '019a9d6e-0000-7000-8000-000000000000')
      const response = {
        description: `${same.map(({ code }) => `${errorCodes[code].title}: \`${code}\``).join('; ')}.`,
        headers: headersOf('x-request-id', ...retries),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, example } },
      }
      return [nameOf(status), response]
    }),
  )
}
