import type { FastifyReply } from 'fastify'
import { errorCodes, type FieldError, type GatewayError } from '../errors.ts'

/** A problem document. @see https://www.rfc-editor.org/rfc/rfc9457 */
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

/** The prefix of a problem's `type`. The code in lower case follows. */
const typePrefix = 'urn:fusion-gateway:problem:'

/**
 * The problem document of an error. It names only the request's id, so that the responses for all missing ids are
 * alike.
 */
export function toProblem({ code, message, fields, details }: GatewayError, requestId: string): Problem {
  const { status, title } = errorCodes[code]
  return {
    type: typePrefix + code.toLowerCase().replaceAll('_', '-'),
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

/** Responds to a request with a problem document. */
export function sendProblem(reply: FastifyReply, error: GatewayError): FastifyReply {
  const problem = toProblem(error, reply.request.id)
  return (
    reply
      .code(problem.status)
      // Set if a compressed stream failed before its first byte.
      .removeHeader('content-encoding')
      .headers(error.headers)
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify(problem))
  )
}
