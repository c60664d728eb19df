import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientHasGone, type ErrorCode, errorCodes, GatewayError } from '../../errors.ts'
import { toGatewayError } from '../../telemetry/gateway-error.ts'
import { setCommonHeaders } from '../common-headers.ts'
import { sendProblem, toProblem } from '../problem.ts'
import { logRequest } from './log-requests.ts'

/** Errors of Fastify, by code. Its own messages describe its internals. */
const fastifyErrors: Record<string, readonly [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['MALFORMED_REQUEST', 'The length of the body differs from content-length.'],
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'The path is not valid percent-encoding.'],
}

/** Answers errors with problem documents. GraphQL has an error handler of its own. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendProblem(reply, toHttpError(error, request)))
  app.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, new GatewayError('NOT_FOUND', 'There is no such route.')),
  )
}

/** The error that a client sees for an error of a request. */
export function toHttpError(error: unknown, request: FastifyRequest): GatewayError {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  const known = code === undefined ? undefined : fastifyErrors[code]
  if (known) return new GatewayError(...known)
  // Yoga aborts when the client has gone.
  if (request.statements?.isAbandoned && (error as Error).name === 'AbortError') return clientHasGone()
  // The socket of the client, not of the database.
  const isCutOff = code === 'ECONNRESET' && request.raw.readableAborted
  if (isCutOff || (statusCode === 400 && code?.startsWith('FST_'))) {
    return new GatewayError('MALFORMED_REQUEST', 'The request could not be read.')
  }
  return toGatewayError(error, request.log)
}

/** Answers a request whose URL Fastify cannot route. None of its hooks has run. */
export function answerBadUrl(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.raw.once('close', () => logRequest(request, reply))
  return sendProblem(setCommonHeaders(reply), toHttpError(error, request))
}

/** Errors of Node's HTTP parser, by code. Other errors mean that the data is not an HTTP request. */
const parserErrors: Record<string, readonly [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The URL and the headers may have at most 16 KiB together.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request was not complete in time.'],
}

/** Answers data that Node could not parse as a request, directly on the socket. */
export function answerClientError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const requestId = randomUUID()
  const [code, message] = parserErrors[error.code ?? ''] ?? ['MALFORMED_REQUEST', 'This is not an HTTP/1.1 request.']
  const { status, title } = errorCodes[code]
  const body = JSON.stringify(toProblem(new GatewayError(code, message), requestId))
  this.log.info({ requestId, status, code: error.code }, 'not a request')
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nx-request-id: ${requestId}\r\ncache-control: no-store\r\n` +
      'content-type: application/problem+json; charset=utf-8\r\nconnection: close\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
