import { randomUUID } from 'node:crypto'
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController, type RawServerDefault } from 'fastify'
import { answerBadUrl, answerClientError } from './plugins/answer-errors.ts'

/** How long the gateway waits for a client. */
export interface HttpTimeouts {
  /** For the headers of a request. */
  readonly headersMilliseconds: number
  /** For the whole request. */
  readonly requestMilliseconds: number
  /** For the next request on a connection. */
  readonly keepAliveMilliseconds: number
  /** For any data on a connection in use. */
  readonly idleMilliseconds: number
}

const maxBodyBytes = 1024 * 1024

/** How often Node looks for connections that exceed their timeouts. */
const checkMilliseconds = 1_000

/** The options of the HTTP server. */
export function serverOptions(logger: FastifyBaseLogger, timeouts: HttpTimeouts) {
  const { headersMilliseconds, requestMilliseconds, keepAliveMilliseconds, idleMilliseconds } = timeouts
  return {
    loggerInstance: logger,
    genReqId: ({ headers }) => validRequestId(headers['x-request-id']) ?? randomUUID(),
    // log-requests.ts writes one line per request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: maxBodyBytes,
    http: {
      headersTimeout: headersMilliseconds,
      connectionsCheckingInterval: Math.min(checkMilliseconds, headersMilliseconds),
    },
    requestTimeout: requestMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    connectionTimeout: idleMilliseconds,
    // Requests on open connections are answered while the gateway stops.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    frameworkErrors: answerBadUrl,
    clientErrorHandler: answerClientError,
    // An id may be long in percent-encoding. A longer one is answered like any unknown id.
    routerOptions: { maxParamLength: 16_384 },
  } satisfies FastifyHttpOptions<RawServerDefault>
}

/** The client's request id, if a log can hold it. */
function validRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:/+=-]{1,128}$/.test(header) ? header : undefined
}
