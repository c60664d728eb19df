import { STATUS_CODES } from 'node:http'
import { errorCodes, GatewayError, invalidField } from '../../engine/errors.ts'
import { toProblem } from '../../engine/http/problem.ts'
import { notFound } from '../route-data.ts'
import { headersOf } from './headers.ts'
import type { Json } from './json-schema.ts'

/** The errors of routes. The first one of a status is its example. */
const errors = [
  new GatewayError('MALFORMED_REQUEST', 'The body is not valid JSON.'),
  new GatewayError('UNAUTHENTICATED', 'Send a valid API key in the header x-api-key.'),
  new GatewayError('FORBIDDEN', 'This needs the scope users:read.'),
  notFound(),
  new GatewayError('REQUEST_TIMEOUT', 'The request was not complete in time.'),
  new GatewayError('IDEMPOTENCY_KEY_IN_USE', 'The first request with this idempotency key is still running.'),
  new GatewayError('PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.'),
  new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'),
  new GatewayError('EXPECTATION_FAILED', 'The only supported value of the header expect is 100-continue.'),
  invalidField('email', 'REQUIRED', 'is required'),
  new GatewayError('IDEMPOTENCY_KEY_REUSED', 'Another request was sent with this idempotency key.'),
  new GatewayError('RATE_LIMITED', 'The key has no points left.', {
    details: { cost: 41, maximum: 100_000, remaining: 7 },
  }),
  new GatewayError('HEADERS_TOO_LARGE', 'The URL and the headers may have at most 16 KiB together.'),
  new GatewayError('INTERNAL', 'The gateway failed. Its log has the details under the request id.'),
  new GatewayError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Try again shortly.'),
]

/** 404 ⇒ `NotFound` */
const nameOf = (status: number | string) => STATUS_CODES[status]?.replaceAll(' ', '') ?? ''

/** The components of the errors: a response for each status. */
export const errorResponses: Record<string, Json> = Object.fromEntries(
  Object.entries(Object.groupBy(errors, ({ code }) => errorCodes[code].status)).map(([status, same = []]) => [
    nameOf(status),
    describeStatus(Number(status), same),
  ]),
)

/** References to the components of statuses: `{ 404: { $ref: '#/components/responses/NotFound' } }`. */
export function errorsOf(statuses: readonly number[]): Record<string, Json> {
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]))
}

function describeStatus(status: number, same: readonly GatewayError[]): Json {
  const retries = [409, 429, 503].includes(status) ? (['retry-after'] as const) : []
  return {
    description: `${same.map(({ code }) => `${errorCodes[code].title}: \`${code}\``).join('; ')}.`,
    headers: headersOf('x-request-id', ...retries),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        example: toProblem(same[0] as GatewayError, '019a9d6e-0000-7000-8000-000000000000'),
      },
    },
  }
}
