import type { Registry } from '@prometheus-io/client'
import { routePlugin } from '../routes.ts'

/** What `/metrics` shows. */
export type MetricsSource = Pick<Registry, 'contentType' | 'metrics'>

export interface MetricsOptions {
  readonly source: MetricsSource
  /** How long everyone gets the same response. Collecting the metrics takes milliseconds. */
  readonly maxAgeMilliseconds: number
}

/** Serves `/metrics` in the text format of Prometheus. */
export const metrics = routePlugin<MetricsOptions>('metrics', (app, { source, maxAgeMilliseconds }) => {
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
})
