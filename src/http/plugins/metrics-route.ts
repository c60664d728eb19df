import Fastify, { type FastifyInstance } from 'fastify'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Serves `/metrics` in the text format of Prometheus. */
export function registerMetrics(app: FastifyInstance, { registry }: Metrics): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    async handler(_request, reply) {
      reply.type(registry.contentType)
      return registry.metrics()
    },
  })
}

/**
 * Serves only `/metrics`, on a port of its own.
 *
 * @param port undefined: not at all
 * @returns stops serving
 * @throws the system's error if it cannot listen
 */
export async function serveMetrics(
  metrics: Metrics,
  host: string,
  port: number | undefined,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => undefined
  const app = Fastify({ exposeHeadRoutes: false })
  registerMetrics(app, metrics)
  await app.listen({ host, port })
  return () => app.close()
}
