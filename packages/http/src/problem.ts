import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { errorCodes, type FieldError, type GatewayError } from '@fusion-gateway/base'
import type { FastifyBaseLogger, FastifyReply } from 'fastify'

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

/**
 * Responds with a problem document directly on a socket, where there is no response of Node, and ends the connection.
 *
 * @param waitMilliseconds how long the client waits for it
 */
export function endWithProblem(
  socket: Duplex,
  error: GatewayError,
  log: FastifyBaseLogger,
  waitMilliseconds = 0,
): void {
  const requestId = randomUUID()
  const { status, title } = errorCodes[error.code]
  const body = JSON.stringify(toProblem(error, requestId))
  const { limit, cause } = error
  log.info({ requestId, status, limit, code: (cause as NodeJS.ErrnoException | undefined)?.code }, 'not a request')
  const headers = {
    ...error.headers,
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'content-type': 'application/problem+json; charset=utf-8',
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const response = `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`
  const timer = setTimeout(() => socket.end(response), waitMilliseconds)
  // Node closes a connection whose client sends nothing more.
  socket.prependOnceListener('end', () => socket.end(response))
  socket.once('close', () => clearTimeout(timer))
}
