import Fastify, { type FastifyInstance } from 'fastify'
import type { Metrics } from '../metrics.ts'

/** Serves `/metrics`, in the text format of Prometheus. */
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
 * Serves `/metrics` and nothing else, where the gateway's callers do not reach.
 *
 * @param port none: not at all
 * @returns ends it
 * @throws the system's error when it cannot listen there
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
