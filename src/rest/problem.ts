import type { FastifyReply } from 'fastify'
import { errorCodes, type FieldError, type GatewayError, retryAfterSeconds } from '../errors.ts'

/** An error as the REST clients get it. @see https://www.rfc-editor.org/rfc/rfc9457 */
interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly request_id: string
  readonly errors?: readonly FieldError[]
}

/** What a problem's `type` begins with; the code in lower case follows. */
const problemTypePrefix = 'urn:fusion-gateway:problem:'

/**
 * An error as a problem document. It speaks of the request by its id alone, so that two requests for two things that
 * are not there get the same answer.
 */
export function toProblem({ code, message, fields, details }: GatewayError, requestId: string): Problem {
  const { status, title } = errorCodes[code]
  return {
    type: problemTypePrefix + code.toLowerCase().replaceAll('_', '-'),
    title,
    status,
    detail: message,
    instance: `urn:fusion-gateway:request:${requestId}`,
    code,
    request_id: requestId,
    ...details,
    ...(status === 422 && { errors: fields }),
  }
}

/** Headers that an error brings along, whichever face answers it. */
export function errorHeaders({ code }: GatewayError): Record<string, string> {
  if (code === 'UNAUTHENTICATED') return { 'www-authenticate': 'ApiKey header="x-api-key"' }
  if (code === 'IDEMPOTENCY_KEY_IN_USE') return { 'retry-after': '1' }
  if (code === 'SERVICE_UNAVAILABLE') return { 'retry-after': String(retryAfterSeconds) }
  return {}
}

/** Answers a request with a problem document. */
export function sendProblem(reply: FastifyReply, error: GatewayError): FastifyReply {
  const problem = toProblem(error, reply.request.id)
  return reply
    .code(problem.status)
    .headers(errorHeaders(error))
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem))
}
