import type { RequestTrace, Tracing } from '../../telemetry/tracing.ts'
import { plugin } from '../plugin.ts'

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
