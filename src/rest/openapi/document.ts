import type { Preparer } from '../../engine/graphql/operation/prepare/prepare.ts'
import { baseUrlOf } from '../../engine/http/base-url.ts'
import { compressResponse } from '../../engine/http/compression.ts'
import { respondConditionally } from '../../engine/http/conditional.ts'
import { routePlugin } from '../../engine/http/plugin.ts'
import { jsonSchemaOf } from '../../engine/input/json-schema.ts'
import { packageVersion } from '../../engine/telemetry/package-version.ts'
import type { Route } from '../route.ts'
import { routes } from '../routes.ts'
import { type StoredOperation, storeOperation, typeAt } from '../stored-operation.ts'
import { errorResponses, errorsOf } from './errors.ts'
import { responseExamples } from './examples.ts'
import { headers, headersOf, idempotencyKeyParameter, ifNoneMatchParameter } from './headers.ts'
import { bodySchema, componentOf, inputSchema, type Json } from './json-schema.ts'
import { probes } from './probes.ts'
import { healthSchema, problemSchema } from './schemas.ts'
import { webhooks } from './webhooks.ts'

/** Serves the OpenAPI document. It needs no key. */
export const openApi = routePlugin<{ preparer: Preparer }>('openApi', (app, { preparer }) => {
  const document = createOpenApiDocument(preparer)
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    onSend: compressResponse,
    async handler(request, reply) {
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
  const schemas: Record<string, Json> = { Problem: problemSchema, Health: healthSchema }
  const paths: Record<string, Record<string, Json>> = { ...probes }
  for (const route of routes) {
    const url = route.url.replace(/:(\w+)/g, '{$1}')
    const operation = storeOperation(preparer, route.operation, route.response)
    paths[url] = { ...paths[url], [route.method.toLowerCase()]: describeRoute(route, operation, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fusion Gateway',
      version: packageVersion(),
      summary: 'Users of a tenant app, the profiles of their platform accounts, and jobs.',
      description:
        'The REST interface. Every route executes an operation of the GraphQL schema at /graphql. Every error is a problem ' +
        'document (RFC 9457). `HEAD` works wherever `GET` does. Examples with ids read the demo tenant.',
      contact: { name: 'The operator of this gateway' },
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    security: [{ apiKey: [] }, { accessToken: [] }],
    tags: [
      { name: 'users', description: 'Users of the tenant app, with their accounts.' },
      { name: 'accounts', description: "Users' accounts on platforms, and their profiles." },
      { name: 'fusion', description: 'Profiles of accounts, and jobs.' },
      { name: 'probes', description: 'For operators.' },
      { name: 'webhooks', description: 'What the gateway sends to your endpoints.' },
    ],
    paths,
    webhooks,
    components: {
      schemas,
      responses: errorResponses,
      headers,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The API key of a tenant.' },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token, instead of the key: for browsers and apps.',
        },
      },
    },
  }
}

/** The headers of routes that execute an operation, and of those that clients can poll. */
const executed = ['x-request-id', 'x-cost', 'ratelimit', 'ratelimit-policy', 'server-timing'] as const
const validated = ['etag', 'cache-control', 'vary'] as const

function describeRoute(route: Route, stored: StoredOperation, schemas: Record<string, Json>): Json {
  const { parameters, body } = route
  const isRead = route.method === 'GET'
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
        required: place === 'path',
        schema: { ...inputSchema(typeAt(stored, variable)), ...jsonSchemaOf(rules) },
        ...(example !== undefined && { example }),
      })),
      isRead ? ifNoneMatchParameter : idempotencyKeyParameter,
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
      ...successOf(route, stored, schemas),
      ...(isRead && {
        '304': {
          description: 'The response is the same as the one with the ETag in `if-none-match`.',
          headers: headersOf(...executed, ...validated),
        },
      }),
      ...errorsOf(statusesOf(route)),
    },
  }
}

/** The response without an error, by its status. */
function successOf(route: Route, { shape }: StoredOperation, schemas: Record<string, Json>): Record<string, Json> {
  const { method, component, listKey, location, connection } = route
  const ofHeaders = headersOf(
    ...executed,
    ...(location ? (['location'] as const) : []),
    ...(method === 'GET' ? validated : (['idempotent-replayed'] as const)),
    ...(connection ? (['link'] as const) : []),
  )
  if (component === undefined) return { '204': { description: 'Deleted.', headers: ofHeaders } }
  const item = componentOf(component, shape, schemas)
  const properties = listKey && { [listKey]: { type: 'array', items: item } }
  const schema = properties ? { type: 'object', properties, required: [listKey] } : item
  const example = responseExamples[component]
  const content = { 'application/json': { schema, example: listKey ? { [listKey]: [example] } : example } }
  return location
    ? { '201': { description: 'Created.', headers: ofHeaders, content } }
    : { '200': { description: 'OK.', headers: ofHeaders, content } }
}

/** The statuses of the errors of a route. */
function statusesOf({ parameters, body, method }: Route): number[] {
  const hasPath = parameters.some((parameter) => parameter.in === 'path')
  const hasInput = body !== undefined || parameters.some((parameter) => parameter.in === 'query')
  const isWrite = method !== 'GET'
  return [
    400,
    401,
    403,
    ...(hasPath ? [404] : []),
    408,
    ...(isWrite ? [409] : []),
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
