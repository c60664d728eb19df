import Fastify from 'fastify'
import { errorHandler } from '../plugins/error-handler.ts'
import { type MetricsSource, metrics } from '../plugins/metrics.ts'
import { listen } from './listen.ts'

/** How many connections the port of the metrics accepts. */
export const maxMetricsConnections = 16

export interface ServeMetricsOptions {
  readonly host: string
  /** Undefined: the metrics have no separate port, and nothing is served. */
  readonly metricsPort: number | undefined
  readonly metricsAgeMilliseconds: number
}

/**
 * Serves only `/metrics`, on a separate port.
 *
 * @returns stops serving
 * @throws the system's error if it cannot listen
 */
export async function serveMetrics(
  source: MetricsSource,
  { host, metricsPort: port, metricsAgeMilliseconds: maxAgeMilliseconds }: ServeMetricsOptions,
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => undefined
  const app = Fastify({ exposeHeadRoutes: false })
  await app.register(errorHandler).register(metrics, { source, maxAgeMilliseconds })
  app.server.maxConnections = maxMetricsConnections
  await listen(app, { host, port })
  return () => app.close()
}
