import type { FastifyInstance } from 'fastify'
import type { Tracing } from '../tracing.ts'

/** Makes a trace of each request. To be called when its statements are counted already. */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined): void {
  app.decorateRequest('trace', undefined)
  if (!tracing) return
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request
    const trace = tracing.begin({ method, route: routeOptions.url, headers })
    if (!trace) return
    request.trace = trace
    request.sqlCount.observe = trace.observe
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
