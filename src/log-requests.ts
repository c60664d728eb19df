import type { FastifyInstance } from 'fastify'

/** One line a request: who asked for what, how it went, what it cost. Never a key, a payload or a query string. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { viewer, operation, sqlCount, method, routeOptions } = request
    request.log.info(
      {
        tenant: viewer?.tenantAppId,
        key: viewer?.keyName,
        route: routeOptions.url ? `${method} ${routeOptions.url}` : undefined,
        operation,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 10) / 10,
        sql: sqlCount.statements,
      },
      'request',
    )
  })

  app.addHook('onRequestAbort', async (request) => {
    request.log.info({ operation: request.operation, sql: request.sqlCount.statements }, 'client went away')
  })
}
