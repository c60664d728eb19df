import { idempotencyKeyPattern } from '../../engine/http/request.ts'
import type { Json } from './json-schema.ts'

/** The components of the response headers. */
export const headers = {
  'x-request-id': {
    description: "The id of the request: the client's own if it sent a valid one.",
    schema: { type: 'string' },
  },
  'retry-after': { description: 'The time to wait, in seconds.', schema: { type: 'integer' } },
  'x-cost': { description: 'The cost of the request in points.', schema: { type: 'integer' } },
  ratelimit: { description: 'The points that the key has left: `"points";r=…;t=…`.', schema: { type: 'string' } },
  'ratelimit-policy': { description: 'The points per minute: `"points";q=…;w=60`.', schema: { type: 'string' } },
  'server-timing': {
    description: 'The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`.',
    schema: { type: 'string' },
  },
  location: { description: 'The URL of what was created.', schema: { type: 'string' } },
  etag: {
    description: 'A weak tag of the response. Missing on the streamed list of all users.',
    schema: { type: 'string', pattern: '^W/"[\\w-]+"$' },
    example: 'W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
  },
  'cache-control': {
    description: 'With an ETag: the client may store the response, and must validate it before each use.',
    schema: { type: 'string', enum: ['private, no-cache', 'no-store'] },
  },
  vary: { description: 'The request headers that the response depends on.', schema: { type: 'string' } },
  'idempotent-replayed': {
    description: 'Present if this is the stored response of an earlier request.',
    schema: { type: 'string', enum: ['true'] },
  },
  link: { description: 'The next page with `rel="next"`, if there is one.', schema: { type: 'string' } },
} satisfies Record<string, Json>

/** References to headers of a response: `{ vary: { $ref: '#/components/headers/vary' } }`. */
export function headersOf(...names: (keyof typeof headers)[]): Record<string, Json> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

// Swagger UI and Postman send the examples of parameters, so optional headers have none: with the key of an example, a
// visitor would get the response of an earlier visitor.

/** A request header of routes that write. */
export const idempotencyKeyParameter = {
  name: 'idempotency-key',
  in: 'header',
  description:
    "The client's key for this request. The first response is stored for 24 hours and returned to each retry.",
  required: false,
  schema: { type: 'string', pattern: idempotencyKeyPattern.source },
}

/** A request header of routes that read. */
export const ifNoneMatchParameter = {
  name: 'if-none-match',
  in: 'header',
  description: 'ETags of earlier responses, or `*`. If the response would be the same, the status is 304.',
  required: false,
  schema: { type: 'string' },
}
