import { createAged } from '@fusion-gateway/base'
import type { Registry } from '@prometheus-io/client'
import Fastify from 'fastify'
import { routePlugin } from '../plugin.ts'
import { listen } from '../server/listen.ts'
import { errorHandler } from './error-handler.ts'

export type MetricsSource = Pick<Registry, 'contentType' | 'metrics'>

export interface MetricsOptions {
  readonly source: MetricsSource
  /** How long everyone gets the same response. Collecting the metrics takes milliseconds. */
  readonly maxAgeMilliseconds: number
}

/** Serves `/metrics` in the text format of Prometheus. */
export const metrics = routePlugin<MetricsOptions>('metrics', (app, { source, maxAgeMilliseconds }) => {
  const collected = createAged(() => source.metrics())
  app.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    async handler(_request, reply) {
      reply.type(source.contentType)
      return collected.within(maxAgeMilliseconds)
    },
  })
})

export const maxMetricsConnections = 16

export interface ServeMetricsOptions {
  readonly host: string
  /** Undefined: the metrics have no port of their own, and nothing is served. */
  readonly metricsPort: number | undefined
  readonly metricsAgeMilliseconds: number
}

/**
 * Serves only `/metrics`, on a port of its own.
 *
 * @returns stops serving
 * @throws OperatorError, or the system's error, if it cannot listen
 */
export async function serveMetrics(
  source: MetricsSource,
  { host, metricsPort: port, metricsAgeMilliseconds: maxAgeMilliseconds }: ServeMetricsOptions,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => undefined
  const app = Fastify({ exposeHeadRoutes: false })
  await app.register(errorHandler).register(metrics, { source, maxAgeMilliseconds })
  app.server.maxConnections = maxMetricsConnections
  await listen(app, { host, port }, 'METRICS_PORT')
  return () => app.close()
}
