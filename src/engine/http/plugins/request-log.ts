import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { RequestTrace, Tracing } from '../../telemetry/tracing.ts'
import { plugin } from '../plugin.ts'
import type { RequestState } from '../request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    trace: RequestTrace | undefined
  }
}

/** Traces requests, if there is a collector. */
export const requestTraces = plugin<{ tracing: Tracing | undefined }>('requestTraces', (app, { tracing }) => {
  app.decorateRequest('trace', undefined)
  if (!tracing) return
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions } = request
    const trace = tracing.begin({ method, route: routeOptions.url, headers })
    if (!trace) return done()
    request.trace = trace
    request.statements.observe = trace.observe
    reply.raw.once('close', () =>
      trace.end({
        requestId: request.id,
        status: reply.raw.statusCode,
        isCutOff: request.statements.isAbandoned === true,
        tenant: request.viewer?.tenantAppId,
        key: request.viewer?.keyName,
      }),
    )
    done()
  })
})

const maxNameLength = 100

/**
 * Logs one line per request, even if its client went away: who requested what, the outcome and the cost. The line has
 * the name of the key, and never its secret, a payload, a path or a query string. The metrics record the same.
 */
export const requestLog = plugin<{ metrics: Metrics }>('requestLog', (app, { metrics }) => {
  app.addHook('onRequest', (request, reply, done) => {
    // Fastify does not call onResponse for a response that was cut off.
    reply.raw.once('close', () => logRequest(request, reply, metrics))
    done()
  })
})

/** Logs a request. Its hooks may not have run. */
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
  /**
   * Whether the connection ended before the client received the whole response: the client went away, or a subscription
   * broke off.
   */
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
      limit: refusal?.limit,
      durationMs: Math.round(milliseconds * 10) / 10,
      sql: statements?.statements ?? 0,
    },
    'request',
  )
}
