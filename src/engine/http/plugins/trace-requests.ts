import type { FastifyInstance } from 'fastify'
import type { Tracing } from '../../telemetry/tracing.ts'

/** Traces requests. Its hook must run after the one that creates the count of statements. */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined): void {
  app.decorateRequest('trace', undefined)
  if (!tracing) return
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request
    const trace = tracing.begin({ method, route: routeOptions.url, headers })
    if (!trace) return
    request.trace = trace
    request.statements.observe = trace.observe
    reply.raw.once('close', () =>
      trace.end({
        requestId: request.id,
        status: reply.raw.statusCode,
        isCutOff: !reply.raw.writableFinished,
        tenant: request.viewer?.tenantAppId,
        key: request.viewer?.keyName,
      }),
    )
  })
}
