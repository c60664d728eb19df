import { METHODS } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { v4 as uuidv4 } from 'uuid'
import { clientHasGone, type ErrorCode, errorCodes, GatewayError } from '../errors.ts'
import { acceptedType } from '../graphql/accepted-type.ts'
import { errorHeaders, sendProblem, toProblem } from '../rest/problem.ts'
import { toShownError } from '../shown-error.ts'
import { logRequest } from './log-requests.ts'

/** What Fastify itself refuses, by its error codes. Its messages speak of its own insides, so ours replace them. */
const refusals: Record<string, readonly [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['MALFORMED_REQUEST', 'The body is not as long as content-length says.'],
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'The path is not valid percent-encoding.'],
}

/** Answers every error: in GraphQL's form on /graphql, as a problem document anywhere else. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(toRefusal(error, request), request, reply))

  app.setNotFoundHandler((request, reply) =>
    answerError(new GatewayError('NOT_FOUND', 'There is no such route.'), request, reply),
  )
}

/** Answers a request whose URL Fastify could not even route; its hooks have not run. */
export function answerBadUrl(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.raw.once('close', () => logRequest(request, reply))
  return answerError(toRefusal(error, request), request, setCommonHeaders(reply))
}

/** What Node's HTTP parser refuses, by its error codes; anything else is no HTTP request at all. */
const parserRefusals: Record<string, readonly [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The URL and the headers may have at most 16 KiB together.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request was not complete in time.'],
}

/** Answers what never became a request, straight on the socket. */
export function answerClientError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const requestId = uuidv4()
  const refusal = new GatewayError(
    ...(parserRefusals[error.code ?? ''] ?? (['MALFORMED_REQUEST', 'This is not an HTTP/1.1 request.'] as const)),
  )
  const { status, title } = errorCodes[refusal.code]
  const body = JSON.stringify(toProblem(refusal, requestId))
  this.log.info({ requestId, status, code: error.code }, 'no request')
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nx-request-id: ${requestId}\r\ncache-control: no-store\r\n` +
      'content-type: application/problem+json; charset=utf-8\r\nconnection: close\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Headers that every answer carries. */
export function setCommonHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'x-request-id': reply.request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
}

/** Answers every method that a path does not have: 405 with those it has. To be called when all routes are there. */
export function refuseOtherMethods(app: FastifyInstance, routes: ReadonlyMap<string, ReadonlySet<string>>): void {
  // Every method that Node's parser lets through; CONNECT never becomes a request.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) if (!app.supportedMethods.includes(method as HTTPMethods)) app.addHttpMethod(method)
  for (const [url, allowed] of routes) {
    app.route({
      method: methods.filter((method) => !allowed.has(method)) as HTTPMethods[],
      url,
      handler: (request, reply) => {
        reply.header('allow', [...allowed].join(', '))
        return answerError(
          new GatewayError('METHOD_NOT_ALLOWED', `Allowed here: ${[...allowed].join(', ')}.`),
          request,
          reply,
        )
      },
    })
  }
}

function toRefusal(error: unknown, request: FastifyRequest): GatewayError {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  const refusal = code === undefined ? undefined : refusals[code]
  if (refusal) return new GatewayError(...refusal)
  // Yoga gives up when the client has gone. Nobody reads the answer, and there is nothing to mend.
  if (request.sqlCount?.isAbandoned && (error as Error).name === 'AbortError') return clientHasGone()
  // The client's socket, not the database's.
  const brokeOff = code === 'ECONNRESET' && request.raw.readableAborted
  if (brokeOff || (statusCode === 400 && code?.startsWith('FST_'))) {
    return new GatewayError('MALFORMED_REQUEST', 'The request could not be read.')
  }
  return toShownError(error, request.log)
}

function answerError(error: GatewayError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!isGraphQL(request)) return sendProblem(reply, error)
  return (
    reply
      .code(errorCodes[error.code].status)
      .headers(errorHeaders(error))
      // Clients read an error's body where its type says that it is GraphQL's.
      .type(`${acceptedType(request.headers.accept) ?? 'application/json'}; charset=utf-8`)
      .send(
        JSON.stringify({ errors: [{ message: error.message, extensions: { code: error.code, ...error.details } }] }),
      )
  )
}

function isGraphQL({ url }: FastifyRequest): boolean {
  return url === '/graphql' || url.startsWith('/graphql?')
}
