import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ErrorCode, GatewayError, type LimitName, ownValue } from '@fusion-gateway/base'
import { toHttpError } from '@fusion-gateway/gateway-kit'
import {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawServerDefault,
} from 'fastify'
import { logRequest, requestIdOf, setCommonHeaders } from '../plugins/request-lifecycle.ts'
import { opensWebSocket } from '../plugins/supported-requests.ts'
import { endWithProblem, sendProblem } from '../problem.ts'

/** How long the gateway waits for a client. */
export interface HttpTimeouts {
  readonly headersMilliseconds: number
  readonly requestMilliseconds: number
  /** For the next request on a connection. */
  readonly keepAliveMilliseconds: number
  /** For any data on a connection in use. */
  readonly idleMilliseconds: number
}

/** The longest body, and the longest message of a WebSocket. */
export const maxBodyBytes = 1024 * 1024

/** How often Node looks for connections that exceed their timeouts. */
const checkMilliseconds = 1_000

export function serverOptions(logger: FastifyBaseLogger, timeouts: HttpTimeouts) {
  const { headersMilliseconds, requestMilliseconds, keepAliveMilliseconds, idleMilliseconds } = timeouts
  return {
    loggerInstance: logger,
    genReqId: requestIdOf,
    // request-lifecycle.ts writes one line per request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: maxBodyBytes,
    http: {
      headersTimeout: headersMilliseconds,
      connectionsCheckingInterval: Math.min(checkMilliseconds, headersMilliseconds),
      shouldUpgradeCallback: opensWebSocket,
      // supported-requests.ts does, with a problem document.
      requireHostHeader: false,
    },
    requestTimeout: requestMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    connectionTimeout: idleMilliseconds,
    // Requests on open connections are served while the gateway stops.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    frameworkErrors: respondToBadUrl,
    clientErrorHandler: respondToClientError,
    // An id may be long in percent-encoding. A longer one gets the response of an unknown id.
    // /users/ is /users: proxies and clients add a slash, and no id is empty.
    routerOptions: { maxParamLength: 16_384, ignoreTrailingSlash: true },
  } satisfies FastifyHttpOptions<RawServerDefault>
}

/** Responds to a request whose URL Fastify cannot route. None of its hooks has run. */
function respondToBadUrl(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.raw.once('close', () => logRequest(request, reply))
  return sendProblem(setCommonHeaders(reply), toHttpError(error, request))
}

/** Errors of Node's HTTP parser, by code. Other errors mean that the data is not an HTTP request. */
const parserErrors: Record<string, readonly [ErrorCode, string, LimitName?]> = {
  HPE_HEADER_OVERFLOW: [
    'HEADERS_TOO_LARGE',
    'The URL and the headers may have at most 16 KiB together.',
    'header_length',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request was not complete in time.', 'request_time'],
}

/** How long a bad request waits: clients that connect again at once would keep others waiting for seconds. */
const refusalMilliseconds = 1_000

/** The sockets that wait for a refusal. Node reports further data of them as further errors. */
const refused = new WeakSet<Duplex>()

/** Responds to data that Node could not parse as a request, directly on the socket. */
function respondToClientError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  // As Node does: a response that has begun, such as a stream of events, would contain the problem.
  const { _httpMessage: begun } = socket as { readonly _httpMessage?: ServerResponse | null }
  if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent) {
    socket.destroy()
    return
  }
  if (refused.has(socket)) return
  refused.add(socket)
  const [code, message, limit] = ownValue(parserErrors, error.code ?? '') ?? [
    'MALFORMED_REQUEST',
    'This is not an HTTP/1.1 request.',
  ]
  // A client whose time is over has waited already.
  const wait = code === 'REQUEST_TIMEOUT' ? 0 : refusalMilliseconds
  if (limit) this.countRefusal(limit)
  endWithProblem(socket, new GatewayError(code, message, { limit, cause: error }), this.log, wait)
}
