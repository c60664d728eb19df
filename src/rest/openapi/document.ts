import type { ErrorCode } from '../../engine/errors.ts'
import type { Preparer } from '../../engine/graphql/operation/prepare/prepare.ts'
import { routePlugin } from '../../engine/http/plugin.ts'
import { jsonSchemaOf } from '../../engine/input/json-schema.ts'
import { packageVersion } from '../../engine/telemetry/package-version.ts'
import type { Route } from '../route.ts'
import { routes } from '../routes.ts'
import { type StoredOperation, storeOperation, typeAt } from '../stored-operation.ts'
import { responseExamples } from './examples.ts'
import { bodySchema, componentOf, inputSchema, type Json } from './json-schema.ts'
import {
  commonHeaders,
  costHeaders,
  describeErrors,
  healthSchema,
  idempotencyKeyParameter,
  ifNoneMatchParameter,
  linkHeader,
  locationHeader,
  probes,
  problemSchema,
  replayedHeader,
  validationHeaders,
} from './parts.ts'

/** Serves the OpenAPI document. It needs no key. */
export const openApi = routePlugin<{ preparer: Preparer }>('openApi', (app, { preparer }) => {
  const document = JSON.stringify(createOpenApiDocument(preparer), null, 2)
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    handler: (_request, reply) => reply.type('application/json; charset=utf-8').send(document),
  })
})

/**
 * Creates the OpenAPI document of the REST interface: paths from the route table, types from the operations and the GraphQL
 * schema, errors from the registry.
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
        'document (RFC 9457). Examples with ids read the demo tenant.',
      contact: { name: 'The operator of this gateway' },
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: '/', description: 'The host of this document.' }],
    security: [{ apiKey: [] }, { accessToken: [] }],
    tags: [
      { name: 'users', description: 'Users of the tenant app, with their accounts.' },
      { name: 'fusion', description: 'Profiles of accounts, and jobs.' },
      { name: 'probes', description: 'For operators.' },
    ],
    paths: Object.fromEntries(
      Object.entries(paths).map(([url, methods]) => [
        url,
        methods['get'] ? { ...methods, head: headOf(methods['get']) } : methods,
      ]),
    ),
    components: {
      schemas,
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

function describeRoute(route: Route, stored: StoredOperation, schemas: Record<string, Json>): Json {
  const { parameters, body } = route
  const item = componentOf(route.component, stored.shape, schemas)
  const isRead = route.method === 'GET'
  const id = operationId(route)
  const response = route.under
    ? {
        type: 'object',
        properties: { [route.under]: { type: 'array', items: item } },
        required: [route.under],
      }
    : item
  return {
    operationId: id,
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
        example,
      })),
      isRead ? ifNoneMatchParameter : idempotencyKeyParameter(id),
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
      [route.location ? '201' : '200']: {
        description: route.location ? 'Created.' : 'OK.',
        headers: {
          ...commonHeaders,
          ...costHeaders,
          ...(route.location && locationHeader),
          ...(isRead ? validationHeaders : replayedHeader),
          ...(route.connection && linkHeader),
        },
        content: { 'application/json': { schema: response, example: exampleOf(route) } },
      },
      ...(isRead && {
        '304': {
          description: 'The response is the same as the one with the ETag in `if-none-match`.',
          headers: { ...commonHeaders, ...costHeaders, ...validationHeaders },
        },
      }),
      ...describeErrors(errorsOf(route)),
    },
  }
}

function exampleOf({ component, under }: Route): unknown {
  const example = responseExamples[component]
  return under === undefined ? example : { [under]: [example] }
}

function errorsOf({ parameters, body, method }: Route): ErrorCode[] {
  const hasPath = parameters.some((parameter) => parameter.in === 'path')
  const reads = body !== undefined || parameters.some((parameter) => parameter.in === 'query')
  return [
    'MALFORMED_REQUEST',
    'UNAUTHENTICATED',
    'FORBIDDEN',
    ...(hasPath ? (['NOT_FOUND'] as const) : []),
    // A GET may have a body that the route does not read.
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    ...(reads || method !== 'GET' ? (['BAD_USER_INPUT'] as const) : []),
    ...(method === 'GET' ? [] : (['IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED'] as const)),
    'RATE_LIMITED',
    'HEADERS_TOO_LARGE',
    'INTERNAL',
    'SERVICE_UNAVAILABLE',
  ]
}

/** `mutation CreateUser(…)` ⇒ `createUser` */
function operationId({ operation }: Route): string {
  const name = /\w+ (\w+)/.exec(operation)?.[1] ?? ''
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** The description of `HEAD`, from that of `GET`: the same without bodies. */
function headOf({ operationId, summary, responses, ...get }: Json): Json {
  const withoutBodies = Object.entries(responses as Record<string, Json>).map(
    ([status, { content: _, ...response }]) => [status, response],
  )
  return {
    ...get,
    operationId: `${operationId}Headers`,
    summary: `${summary}: the headers only`,
    responses: Object.fromEntries(withoutBodies),
  }
}
