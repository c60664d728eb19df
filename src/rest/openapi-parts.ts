import { type ErrorCode, errorCodes } from '../errors.ts'
import type { Json } from './json-schema.ts'

/** Documents errors of the registry, by their status. */
export function describeRefusals(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = Object.entries(Object.groupBy(codes, (code) => errorCodes[code].status))
  return Object.fromEntries(byStatus.map(([status, same = []]) => [status, describeRefusal(Number(status), same)]))
}

function describeRefusal(status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: `${codes.map((code) => `${errorCodes[code].title}: \`${code}\``).join('; ')}.`,
    headers: {
      ...commonHeaders,
      ...([409, 429, 503].includes(status) && {
        'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer' } },
      }),
    },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
}

/** Headers of every answer. */
export const commonHeaders = {
  'x-request-id': {
    description: "The request's id: the caller's own where it sent a sane one.",
    schema: { type: 'string' },
  },
}

/** Headers of a route that runs an operation. */
export const costHeaders = {
  'x-cost': { description: 'The points that this has cost.', schema: { type: 'integer' } },
  ratelimit: { description: 'The points that the key has left: `"points";r=…;t=…`.', schema: { type: 'string' } },
  'ratelimit-policy': { description: 'The points of a minute: `"points";q=…;w=60`.', schema: { type: 'string' } },
}

/** Headers of a route that makes something. */
export const locationHeader = { location: { description: 'Where the new user is.', schema: { type: 'string' } } }

/** A header that a route which writes may be sent. */
export const idempotencyKeyParameter = {
  name: 'idempotency-key',
  in: 'header',
  description:
    "The caller's own name for this request. The first answer to it is kept for 24 hours and given again to each retry.",
  required: false,
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
}

/** Headers of a route that writes. */
export const replayedHeader = {
  'idempotent-replayed': {
    description: 'Whether this is the answer of the first time.',
    schema: { type: 'string', enum: ['true'] },
  },
}

/** Headers of a list. */
export const linkHeader = {
  link: { description: 'The next page, with `rel="next"`, while there is more.', schema: { type: 'string' } },
}

/** The schema of a problem document. */
export const problemSchema = {
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
    cost: { type: 'integer', description: 'The points that this would cost; with status 429.' },
    maximum: { type: 'integer', description: 'The points of a minute; with status 429.' },
    remaining: { type: 'integer', description: 'The points that are left; with status 429.' },
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

/** The schema of what the probes answer. */
export const healthSchema = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['ok', 'ready', 'not ready'] } },
  required: ['status'],
}

const healthContent = { 'application/json': { schema: { $ref: '#/components/schemas/Health' } } }

/** A probe needs no key and reads nothing, but what it is sent must still be HTTP of a bearable size. */
const probeRefusals = describeRefusals([
  'MALFORMED_REQUEST',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'HEADERS_TOO_LARGE',
])

/** The paths that need no key. */
export const probes: Record<string, Json> = {
  '/metrics': {
    get: {
      operationId: 'getMetrics',
      tags: ['probes'],
      summary: 'What the process measures of itself, for Prometheus; unless it is served at an address of its own',
      security: [],
      responses: {
        '200': { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
        ...probeRefusals,
      },
    },
  },
  '/health': {
    get: {
      operationId: 'getHealth',
      tags: ['probes'],
      summary: 'Whether the process is alive',
      security: [],
      responses: {
        '200': { description: 'It is.', content: healthContent },
        ...probeRefusals,
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
        ...probeRefusals,
        '503': { description: 'It cannot, for now.', content: healthContent },
      },
    },
  },
}
