import type { Registry } from '@prometheus-io/client'
import Fastify, { type FastifyInstance } from 'fastify'
import { listen } from '../listen.ts'

/** What `/metrics` shows. */
export type MetricsSource = Pick<Registry, 'contentType' | 'metrics'>

/** How many connections the port of the metrics accepts. */
export const maxMetricsConnections = 16

/**
 * Serves `/metrics` in the text format of Prometheus.
 *
 * @param maxAgeMilliseconds how long the same answer is given to everyone: collecting the metrics takes milliseconds
 */
export function registerMetrics(app: FastifyInstance, source: MetricsSource, maxAgeMilliseconds = 1_000): void {
  let collected: Promise<string> | undefined
  let collectedAt = 0

  app.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    async handler(_request, reply) {
      reply.type(source.contentType)
      if (collected === undefined || performance.now() - collectedAt > maxAgeMilliseconds) {
        collected = source.metrics()
        collectedAt = performance.now()
      }
      return collected
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
  source: MetricsSource,
  host: string,
  port: number | undefined,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => undefined
  const app = Fastify({ exposeHeadRoutes: false })
  registerMetrics(app, source)
  app.server.maxConnections = maxMetricsConnections
  await listen(app, { host, port })
  return () => app.close()
}
