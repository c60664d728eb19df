import { type ErrorCode, errorCodes } from '../errors.ts'
import type { Json } from './json-schema.ts'

/** Documents an error of the registry: its status, and what is answered with it. */
export function describeRefusal(code: ErrorCode): [string, Json] {
  const { status, title } = errorCodes[code]
  return [
    String(status),
    {
      description: `${title}: \`${code}\`.`,
      headers: {
        ...commonHeaders,
        ...((status === 503 || status === 429) && {
          'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer' } },
        }),
      },
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]
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
const probeRefusals = Object.fromEntries(
  (['MALFORMED_REQUEST', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'HEADERS_TOO_LARGE'] as const).map(
    describeRefusal,
  ),
)

/** The paths that need no key. */
export const probes: Record<string, Json> = {
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
