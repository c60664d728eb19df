import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Viewer } from '@fusion-gateway/auth'
import type { LimitName } from '@fusion-gateway/base'
import type { RequestState } from '@fusion-gateway/gateway-kit'
import { Held } from '@fusion-gateway/limits'
import type { RequestDatabase } from '@fusion-gateway/sql'
import { type Metrics, Refusal, type RequestTrace, type Tracing } from '@fusion-gateway/telemetry'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts what a limit refuses before it is a request. */
    countRefusal(limit: LimitName): void
  }
  interface FastifyRequest {
    /** The holder of the API key; null on routes that need none. */
    viewer: Viewer | null
    statements: RequestDatabase
    /** The length of its body, in bytes. */
    bodyLength: number
    /** The limit that has refused the request, or a part of it. */
    refusal: Refusal
    /** What it holds until its response is sent or its client has gone. */
    held: Held
    /** Whether it has several operations, which are logged by themselves. */
    isBatch: boolean
    operationName: string | undefined
    trace: RequestTrace | undefined
  }
}

/**
 * Begins and ends each request. It begins with its state, its trace and the headers of its response. When the response
 * is sent or the client has gone, the request gives back what it holds, and has its line in the log and its metrics.
 */
export const requestLifecycle = plugin<{ metrics: Metrics; tracing: Tracing | undefined }>(
  'requestLifecycle',
  (app, { metrics, tracing }) => {
    app.decorate('countRefusal', metrics.countRefusal)
    app.decorateRequest('viewer', null)
    app.decorateRequest('statements')
    app.decorateRequest('bodyLength', 0)
    app.decorateRequest('operationName', undefined)
    app.decorateRequest('isBatch', false)
    app.decorateRequest('refusal')
    app.decorateRequest('held')
    app.decorateRequest('trace', undefined)
    app.decorateReply('repeated', undefined)
    app.addHook('onRequest', (request, reply, done) => {
      const { method, headers, routeOptions } = request
      const trace = tracing?.begin({ method, route: routeOptions.url, headers })
      request.trace = trace
      request.statements = { statements: 0, requestId: request.id, observe: trace?.observe }
      request.refusal = new Refusal(metrics)
      request.held = new Held()
      setCommonHeaders(reply)
      // Fastify does not call onResponse for a response that was cut off.
      reply.raw.once('close', () => endRequest(request, reply, metrics))
      done()
    })
    app.addHook('onSend', (request, reply, payload, done) => {
      if (request.viewer && typeof payload === 'string') setServerTiming(reply)
      done()
    })
  },
)

function endRequest(request: FastifyRequest, reply: FastifyReply, metrics: Metrics): void {
  const { statements, held, trace, viewer } = request
  // The request of a tool (mcp/protocol.ts) has no connection that could be cut off.
  const isCutOff = !reply.raw.writableFinished && !('isLightMyRequest' in reply.raw)
  statements.isAbandoned = isCutOff
  held.end()
  trace?.end({
    requestId: request.id,
    status: reply.raw.statusCode,
    isCutOff,
    tenant: viewer?.tenantAppId,
    key: viewer?.keyName,
  })
  logRequest(request, reply, metrics)
}

/** The id of a request: the client's, if a log can hold it, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const { 'x-request-id': sent } = headers
  return typeof sent === 'string' && /^[\w.:/+=-]{1,128}$/.test(sent) ? sent : randomUUID()
}

/** Sets the headers of every response, also of those to requests for which no hook runs. */
export function setCommonHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'x-request-id': reply.request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
}

/**
 * Tells clients with a key how long their response took, and how many SQL statements it needed. Browsers show the
 * header in their developer tools. A response that is sent in parts has none, because its headers are sent first.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
function setServerTiming(reply: FastifyReply): void {
  const { statements } = reply.request.statements
  const db = `db;desc="${statements} ${statements === 1 ? 'statement' : 'statements'}"`
  reply.header('server-timing', `total;dur=${reply.elapsedTime.toFixed(1)}, ${db}`)
}

const maxNameLength = 100

/**
 * Logs a request, whose hooks may not have run: who requested what, the outcome and the cost. The line has the name of
 * the key, and never its secret, a payload, a path or a query string. The metrics record the same.
 */
export function logRequest(request: FastifyRequest, reply: FastifyReply, metrics?: Metrics): void {
  const { routeOptions, isBatch } = request
  const method = isBatch ? 'BATCH' : request.method
  const outcome = {
    // Not the path of the request, which may have a secret.
    route: routeOptions?.url ? `${method} ${routeOptions.url}` : 'unknown',
    status: reply.raw.statusCode,
    isCutOff: request.statements?.isAbandoned ?? !reply.raw.writableFinished,
    milliseconds: reply.elapsedTime,
  }
  logOutcome(request, outcome, metrics)
}

export interface Outcome {
  readonly route: string
  readonly status: number
  /** Whether the connection ended before the whole response was received. */
  readonly isCutOff: boolean
  readonly milliseconds: number
}

/** Logs and measures a request, or an operation that came over a WebSocket. */
export function logOutcome(
  { viewer, operationName, statements, refusal, log }: Omit<RequestState, 'headers'>,
  { route, status, isCutOff, milliseconds }: Outcome,
  metrics?: Metrics,
): void {
  const operation = operationName?.slice(0, maxNameLength)
  metrics?.requestSeconds.observe(
    { route, operation: metrics.operationLabel(operation, viewer?.tenantAppId), status },
    milliseconds / 1_000,
  )
  log.info(
    {
      tenant: viewer?.tenantAppId,
      key: viewer?.keyName,
      route,
      operation,
      status,
      ...(isCutOff && { cutOff: true }),
      ...(statements?.isKept && { cached: true }),
      limit: refusal?.limit,
      durationMs: Math.round(milliseconds * 10) / 10,
      sql: statements?.statements ?? 0,
    },
    'request',
  )
}
