import Fastify from 'fastify'
import { errorHandler } from '../plugins/error-handler.ts'
import { type MetricsSource, metrics } from '../plugins/metrics.ts'
import { listen } from './listen.ts'

/** How many connections the port of the metrics accepts. */
export const maxMetricsConnections = 16

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
  await app.register(errorHandler).register(metrics, { source })
  app.server.maxConnections = maxMetricsConnections
  await listen(app, { host, port })
  return () => app.close()
}
