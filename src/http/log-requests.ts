import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const maxNameLength = 100

/**
 * One line a request, whether it was answered or its client went away: who asked for what, how it went, what it cost.
 * Never a key, a payload or a query string.
 */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    // Not Fastify's onResponse, which is not called for an answer that was cut off.
    reply.raw.once('close', () => logRequest(request, reply))
  })
}

/** Logs a request for which no hook has run. */
export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { viewer, operation, sqlCount, method, url, routeOptions } = request
  request.log.info(
    {
      tenant: viewer?.tenantAppId,
      key: viewer?.keyName,
      route: `${method} ${routeOptions?.url ?? url.split('?')[0]?.slice(0, maxNameLength)}`,
      operation: operation?.slice(0, maxNameLength),
      status: reply.raw.statusCode,
      ...(!reply.raw.writableFinished && { cutOff: true }),
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      sql: sqlCount?.statements ?? 0,
    },
    'request',
  )
}
