import { AggregatorRegistry, type Registry } from '@prometheus-io/client'
import type { MetricsSource } from '../../../engine/http/plugins/metrics-route.ts'

/** Metrics with their values. */
export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The part of one child. */
export interface MetricsShare {
  /** Stores the metrics of the child. */
  report(metrics: MetricsReport): void
  /** The child has ended: forgets its gauges, and keeps its counts. A sum that falls would look like a restart. */
  retire(): void
}

/** The metrics of all children, as if they were one process. */
export interface SummedMetrics extends MetricsSource {
  /** Adds a child. */
  add(): MetricsShare
}

/**
 * Sums the metrics of the children. A gauge that is not an amount names its aggregator.
 *
 * @param refresh asks the children for reports. A child that does not answer counts with its last report
 */
export function createSummedMetrics(refresh: () => Promise<void>): SummedMetrics {
  const reports = new Map<MetricsShare, MetricsReport>()
  let ofEnded: Promise<MetricsReport> = Promise.resolve([])
  let refreshing: Promise<void> | undefined

  return {
    contentType: AggregatorRegistry.PROMETHEUS_CONTENT_TYPE,
    async metrics() {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      await refreshing
      const ended = await ofEnded
      return sum([...reports.values(), ended]).metrics()
    },
    add() {
      const share: MetricsShare = {
        report(metrics) {
          if (reports.has(share)) reports.set(share, metrics.map(showWorst))
        },
        retire() {
          const counts = (reports.get(share) ?? []).filter(({ type }) => String(type) !== 'gauge')
          reports.delete(share)
          ofEnded = ofEnded.then((before) => sum([before, counts]).getMetricsAsJSON())
        },
      }
      reports.set(share, [])
      return share
    },
  }
}

function sum(reports: MetricsReport[]): Registry {
  return AggregatorRegistry.aggregate(reports)
}

/** Replaces the mean of several processes by the worst of them: one process that is late needs attention. */
function showWorst(metric: MetricsReport[number]): MetricsReport[number] {
  return metric.aggregator === 'average' ? { ...metric, aggregator: 'max' } : metric
}
