import { type ErrorCode, errorCodes, invalidField } from '../../engine/errors.ts'
import { toProblem } from '../../engine/http/problem.ts'
import { idempotencyKeyPattern } from '../../engine/http/request.ts'
import type { Json } from './json-schema.ts'

/** Describes errors of the registry, by status. */
export function describeErrors(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = Object.entries(Object.groupBy(codes, (code) => errorCodes[code].status))
  return Object.fromEntries(byStatus.map(([status, same = []]) => [status, describeStatus(Number(status), same)]))
}

function describeStatus(status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: `${codes.map((code) => `${errorCodes[code].title}: \`${code}\``).join('; ')}.`,
    headers: {
      ...commonHeaders,
      ...([409, 429, 503].includes(status) && {
        'retry-after': { description: 'The time to wait, in seconds.', schema: { type: 'integer' } },
      }),
    },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
}

export const commonHeaders = {
  'x-request-id': {
    description: "The id of the request: the client's own if it sent a valid one.",
    schema: { type: 'string' },
  },
}

/** Headers of routes that execute an operation. */
export const costHeaders = {
  'x-cost': { description: 'The cost of the request in points.', schema: { type: 'integer' } },
  ratelimit: { description: 'The points that the key has left: `"points";r=…;t=…`.', schema: { type: 'string' } },
  'server-timing': {
    description: 'The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`.',
    schema: { type: 'string' },
  },
  'ratelimit-policy': { description: 'The points per minute: `"points";q=…;w=60`.', schema: { type: 'string' } },
}

/** Headers of routes that create an object. */
export const locationHeader = { location: { description: 'The URL of the new user.', schema: { type: 'string' } } }

/** A request header of routes that write. Each operation has its own example, because a key is for one request. */
export function idempotencyKeyParameter(operationId: string): Json {
  return {
    name: 'idempotency-key',
    in: 'header',
    description:
      "The client's key for this request. The first response is stored for 24 hours and returned to each retry.",
    required: false,
    schema: { type: 'string', pattern: idempotencyKeyPattern.source },
    example: `${operationId}-1`,
  }
}

const tagExample = 'W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"'

export const ifNoneMatchParameter = {
  name: 'if-none-match',
  in: 'header',
  description: 'ETags of earlier responses, or `*`. If the response would be the same, the status is 304.',
  required: false,
  schema: { type: 'string' },
  example: tagExample,
}

export const validationHeaders = {
  etag: {
    description: 'A weak tag of the response. Missing on the streamed list of all users.',
    schema: { type: 'string', pattern: '^W/"[\\w-]+"$' },
    example: tagExample,
  },
  'cache-control': {
    description: 'With an ETag: the client may store the response, and must validate it before each use.',
    schema: { type: 'string', enum: ['private, no-cache', 'no-store'] },
  },
  vary: { description: 'The request headers that the response depends on.', schema: { type: 'string' } },
}

export const replayedHeader = {
  'idempotent-replayed': {
    description: 'Present if this is the stored response of an earlier request.',
    schema: { type: 'string', enum: ['true'] },
  },
}

export const linkHeader = {
  link: { description: 'The next page with `rel="next"`, if there is one.', schema: { type: 'string' } },
}

export const problemSchema = {
  type: 'object',
  description: 'An error (RFC 9457).',
  examples: [toProblem(invalidField('email', 'REQUIRED', 'is required'), '019a9d6e-0000-7000-8000-000000000000')],
  properties: {
    type: { type: 'string', description: 'The type of the problem.' },
    title: { type: 'string', description: 'The type of the problem in words.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'The error of this request.' },
    instance: { type: 'string', description: 'The occurrence of the problem.' },
    code: { type: 'string', enum: Object.keys(errorCodes), description: 'The error code.' },
    request_id: { type: 'string', description: 'The id of the request in the log.' },
    cost: { type: 'integer', description: 'The cost in points, with `TOO_EXPENSIVE` and `RATE_LIMITED`.' },
    maximum: {
      type: 'integer',
      description: 'The maximum in points: of an operation with `TOO_EXPENSIVE`, per minute with `RATE_LIMITED`.',
    },
    remaining: { type: 'integer', description: 'The points that are left in this minute, with `RATE_LIMITED`.' },
    errors: {
      type: 'array',
      description: 'The rejected fields, with status 422.',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'The path of the field.' },
          code: { type: 'string', description: 'The error code of the field.' },
          message: { type: 'string', description: 'The values that are accepted.' },
        },
        required: ['field', 'code', 'message'],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
}

export const healthSchema = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['ok', 'ready', 'not ready'] } },
  required: ['status'],
}

const healthContent = { 'application/json': { schema: { $ref: '#/components/schemas/Health' } } }

/** Errors of probes. They need no key and read no input. */
const probeErrors = describeErrors([
  'MALFORMED_REQUEST',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'HEADERS_TOO_LARGE',
])

function probe(operationId: string, summary: string, description: string, responses: Record<string, Json>) {
  const get = { operationId, tags: ['probes'], summary, description, security: [] }
  return { get: { ...get, responses: { ...responses, ...probeErrors } } }
}

/** Paths that need no key. */
export const probes: Record<string, Record<string, Json>> = {
  '/metrics': probe(
    'getMetrics',
    'Get metrics',
    'Returns metrics in the text format of Prometheus. 404 if they are served on a port of their own.',
    { '200': { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } } },
  ),
  '/health': probe('getHealth', 'Get health', 'Answers while the process runs.', {
    '200': { description: 'It runs.', content: healthContent },
  }),
  '/ready': probe(
    'getReadiness',
    'Get readiness',
    'Tells whether the database answers, accepts writes, and has all migrations.',
    {
      '200': { description: 'Ready.', content: healthContent },
      '503': { description: 'Not ready.', content: healthContent },
    },
  ),
}
