import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import {
  GraphQLEnumType,
  type GraphQLInputType,
  type GraphQLScalarType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import { type ErrorCode, errorCodes } from '../errors.ts'
import { schema as graphqlSchema } from '../graphql/schema.ts'
import { type CompiledOperation, compileOperation, typeAt } from './operation.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { type ObjectShape, type Shape, keepsNull } from './shape.ts'

type Json = Record<string, unknown>

/** Serves the OpenAPI document, to anybody. */
export function registerOpenApi(app: FastifyInstance): void {
  const document = JSON.stringify(createOpenApiDocument(), null, 2)
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    handler: (_request, reply) => reply.type('application/json; charset=utf-8').send(document),
  })
}

/**
 * The OpenAPI document of the REST interface, derived: paths from the route table, types from the operations and the
 * GraphQL schema, errors from the registry.
 *
 * @see https://spec.openapis.org/oas/v3.1.0.html
 */
export function createOpenApiDocument(): Json {
  const schemas: Record<string, Json> = { Problem: problemSchema, Health: healthSchema }
  const paths: Record<string, Json> = { ...probes }
  for (const route of routes) {
    const url = route.url.replace(/:(\w+)/g, '{$1}')
    const operation = compileOperation(graphqlSchema, route)
    paths[url] = { ...paths[url], [route.method.toLowerCase()]: describeRoute(route, operation, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fusion Gateway',
      version: packageVersion(),
      summary: 'Users of a tenant app, the profiles of their platform accounts, and jobs.',
      description:
        'The REST interface. Every route runs a stored operation of the GraphQL schema at /graphql. Every error is a ' +
        'problem document (RFC 9457).',
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: '/', description: 'Where this document comes from.' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'users', description: 'Users of the tenant app, with their accounts.' },
      { name: 'fusion', description: 'Profiles of accounts, and jobs.' },
      { name: 'probes', description: 'For whoever operates the gateway.' },
    ],
    paths,
    components: {
      schemas,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A key of one tenant.' },
      },
    },
  }
}

function describeRoute(route: Route, operation: CompiledOperation, schemas: Record<string, Json>): Json {
  const { parameters, body } = route
  const item = componentOf(route.component, operation.shape, schemas)
  const answer = route.under
    ? {
        type: 'object',
        properties: { [route.under]: { type: 'array', items: item } },
        required: [route.under],
      }
    : item
  return {
    operationId: operationId(route),
    tags: [route.url.split('/')[1]],
    summary: route.summary,
    ...(route.description && { description: route.description }),
    parameters: parameters.map(({ in: place, name, variable, description }) => ({
      name,
      in: place,
      description,
      required: place === 'path',
      schema: inputSchema(typeAt(operation, variable)),
    })),
    ...(body && {
      requestBody: {
        required: body.required,
        description: body.description,
        content: { 'application/json': { schema: bodySchema(body.without ?? [], typeAt(operation, body.variable)) } },
      },
    }),
    responses: {
      [route.makes ? '201' : '200']: {
        description: route.makes ? 'Made.' : 'Found.',
        headers: { ...commonHeaders, ...(route.makes && locationHeader), ...(route.connection && linkHeader) },
        content: { 'application/json': { schema: answer } },
      },
      ...Object.fromEntries(refusalsOf(route).map(describeRefusal)),
    },
  }
}

/** The errors that a route can answer. */
function refusalsOf({ parameters, body, method }: Route): ErrorCode[] {
  const hasPath = parameters.some((parameter) => parameter.in === 'path')
  const reads = body !== undefined || parameters.some((parameter) => parameter.in === 'query')
  return [
    'MALFORMED_REQUEST',
    'UNAUTHENTICATED',
    'FORBIDDEN',
    ...(hasPath ? (['NOT_FOUND'] as const) : []),
    // A GET may carry a body even where none is read.
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    ...(reads || method !== 'GET' ? (['BAD_USER_INPUT'] as const) : []),
    'HEADERS_TOO_LARGE',
    'INTERNAL',
    'SERVICE_UNAVAILABLE',
  ]
}

function describeRefusal(code: ErrorCode): [string, Json] {
  const { status, title } = errorCodes[code]
  return [
    String(status),
    {
      description: `${title}: \`${code}\`.`,
      headers: {
        ...commonHeaders,
        ...(status === 503 && { 'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer' } } }),
      },
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]
}

/** `mutation CreateUser(…)` ⇒ `createUser` */
function operationId({ operation }: Route): string {
  const name = /\w+ (\w+)/.exec(operation)?.[1] ?? ''
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** A reference to the schema of an answer, or of the elements of a list, which is added under its name. */
function componentOf(name: string, shape: Shape, schemas: Record<string, Json>): Json {
  if (shape.kind === 'list') return componentOf(name, shape.of, schemas)
  if (shape.kind === 'leaf') return leafSchema(shape.type)
  schemas[name] = objectSchema(shape, schemas)
  return { $ref: `#/components/schemas/${name}` }
}

function objectSchema({ fields }: ObjectShape, schemas: Record<string, Json>): Json {
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(({ key, nullable, description, shape }) => {
        const schema = outputSchema(shape, schemas)
        const described = '$ref' in schema || !description ? schema : { ...schema, description }
        return [key, nullable && keepsNull(key) ? { ...described, type: [described['type'], 'null'] } : described]
      }),
    ),
    // A field without a value is left out, but for the one that keeps its null.
    required: fields.filter(({ key, nullable }) => !nullable || keepsNull(key)).map(({ key }) => key),
  }
}

function outputSchema(shape: Shape, schemas: Record<string, Json>): Json {
  if (shape.kind === 'list') return { type: 'array', items: outputSchema(shape.of, schemas) }
  return shape.kind === 'object' ? componentOf(shape.name, shape, schemas) : leafSchema(shape.type)
}

function bodySchema(without: readonly string[], type: GraphQLInputType): Json {
  if (isNonNullType(type)) return bodySchema(without, type.ofType)
  if (!isInputObjectType(type)) return inputSchema(type)
  const fields = Object.values(type.getFields()).filter(({ name }) => !without.includes(name))
  return {
    type: 'object',
    ...(type.description && { description: type.description }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const schema = inputSchema(field.type)
        const nullable = isNonNullType(field.type) ? schema : { ...schema, type: [schema['type'], 'null'] }
        return [field.name, { ...nullable, ...(field.description && { description: field.description }) }]
      }),
    ),
    required: fields.filter((field) => isNonNullType(field.type)).map(({ name }) => name),
  }
}

function inputSchema(type: GraphQLInputType): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType)
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType as GraphQLInputType) }
  if (isInputObjectType(type)) throw new Error('A parameter must have a scalar type, or a list of one')
  return leafSchema(type)
}

function leafSchema(type: GraphQLScalarType | GraphQLEnumType): Json {
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name.toLowerCase()) }
  return scalarSchemas[type.name] ?? { description: type.name }
}

const scalarSchemas: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  SafeInt: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', pattern: '^\\d{4}:\\d{2}:\\d{2}$', example: '1990:05:17' },
  JSONObject: { type: 'object', additionalProperties: true },
}

const commonHeaders = {
  'x-request-id': {
    description: "The request's id: the caller's own where it sent a sane one.",
    schema: { type: 'string' },
  },
}

const locationHeader = { location: { description: 'Where the new user is.', schema: { type: 'string' } } }

const linkHeader = {
  link: { description: 'The next page, with `rel="next"`, while there is more.', schema: { type: 'string' } },
}

const problemSchema = {
  type: 'object',
  description: 'What went wrong, as RFC 9457 writes it.',
  properties: {
    type: { type: 'string', description: 'The kind of problem.' },
    title: { type: 'string', description: 'The kind of problem, in words.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'What is wrong with this request.' },
    instance: { type: 'string', description: 'This occurrence of the problem.' },
    code: { type: 'string', enum: Object.keys(errorCodes), description: 'The kind of problem, for programs.' },
    request_id: { type: 'string', description: 'The id that finds the request in the log.' },
    errors: {
      type: 'array',
      description: 'The refused fields; with status 422.',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'Which field.' },
          code: { type: 'string', description: 'Why.' },
          message: { type: 'string', description: 'What would be accepted.' },
        },
        required: ['field', 'code', 'message'],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
}

const healthSchema = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['ok', 'ready', 'not ready'] } },
  required: ['status'],
}

const healthContent = { 'application/json': { schema: { $ref: '#/components/schemas/Health' } } }

const probes = {
  '/health': {
    get: {
      operationId: 'getHealth',
      tags: ['probes'],
      summary: 'Whether the process is alive',
      security: [],
      responses: {
        '200': { description: 'It is.', content: healthContent },
        ...Object.fromEntries((['MALFORMED_REQUEST'] as const).map(describeRefusal)),
      },
    },
  },
  '/ready': {
    get: {
      operationId: 'getReadiness',
      tags: ['probes'],
      summary: 'Whether the gateway can answer: the database does, and all migrations are applied',
      security: [],
      responses: {
        '200': { description: 'It can.', content: healthContent },
        ...Object.fromEntries((['MALFORMED_REQUEST'] as const).map(describeRefusal)),
        '503': { description: 'It cannot, for now.', content: healthContent },
      },
    },
  },
}

function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
