import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../../telemetry/metrics.ts'
import { plugin } from '../plugin.ts'

const maxNameLength = 100

/**
 * Logs one line per request, even if its client went away: who requested what, the outcome and the cost.
 * The line has the name of the key, and never its secret, a payload or a query string. The metrics record the same.
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
  const { viewer, operationName, statements, method, url, routeOptions } = request
  const route = routeOptions?.url && `${method} ${routeOptions.url}`
  const operation = operationName?.slice(0, maxNameLength)
  metrics?.requestSeconds.observe(
    {
      route: route ?? 'unknown',
      operation: metrics.operationLabel(operation, viewer?.keyId),
      status: reply.raw.statusCode,
    },
    reply.elapsedTime / 1_000,
  )
  request.log.info(
    {
      tenant: viewer?.tenantAppId,
      key: viewer?.keyName,
      route: route ?? `${method} ${url.split('?')[0]?.slice(0, maxNameLength)}`,
      operation,
      status: reply.raw.statusCode,
      ...(!reply.raw.writableFinished && { cutOff: true }),
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      sql: statements?.statements ?? 0,
    },
    'request',
  )
}
