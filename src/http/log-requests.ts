import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../metrics.ts'

const maxNameLength = 100

/**
 * One line a request, whether it was answered or its client went away: who asked for what, how it went, what it cost.
 * Never a key, a payload or a query string. The same is measured.
 */
export function logRequests(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    // Not Fastify's onResponse, which is not called for an answer that was cut off.
    reply.raw.once('close', () => logRequest(request, reply, metrics))
  })
}

/** Logs and measures a request for which no hook has run. */
export function logRequest(request: FastifyRequest, reply: FastifyReply, metrics?: Metrics): void {
  const { viewer, operation, sqlCount, method, url, routeOptions } = request
  const known = routeOptions?.url && `${method} ${routeOptions.url}`
  const name = operation?.slice(0, maxNameLength)
  metrics?.requestSeconds.observe(
    { route: known ?? 'unknown', operation: metrics.operationLabel(name), status: reply.raw.statusCode },
    reply.elapsedTime / 1_000,
  )
  request.log.info(
    {
      tenant: viewer?.tenantAppId,
      key: viewer?.keyName,
      route: known ?? `${method} ${url.split('?')[0]?.slice(0, maxNameLength)}`,
      operation: name,
      status: reply.raw.statusCode,
      ...(!reply.raw.writableFinished && { cutOff: true }),
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      sql: sqlCount?.statements ?? 0,
    },
    'request',
  )
}
