import { setTimeout as sleep } from 'node:timers/promises'
import type { Connections, Driver } from '@fusion-gateway/sql'
import { collectDefaultMetrics } from '@prometheus-io/client'
import { type Metrics, metricsIn } from './metrics.ts'

/** Adds the metrics of the process itself: memory, garbage collection, event loop, connections. */
export function measureProcess({ registry }: Metrics, connections: () => Connections): void {
  collectDefaultMetrics({ register: registry })
  // Quantiles of several processes cannot be added up. The histogram of the same values stays.
  registry.removeSingleMetric('nodejs_eventloop_utilization_summary')
  for (const metric of registry.getMetricsAsArray()) {
    // The mean of several processes would hide one that is overloaded.
    if (metric.aggregator === 'average') metric.aggregator = 'max'
  }
  const help = 'Database connections in use and idle, and statements that wait for one'
  metricsIn(registry).gauge('fusion_database_connections', help, {
    labelNames: ['state'],
    collect() {
      const { inUse, idle, waiting } = connections()
      this.set({ state: 'in_use' }, inUse)
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'waiting' }, waiting)
    },
  })
}

/** How long a scrape waits for a check of readiness. A probe waits as long (deploy/kubernetes/gateway.yaml). */
const readinessMilliseconds = 2_000

/**
 * Adds whether a gateway is ready, as `/ready` says. Each scrape checks it, so the metric is right although nobody asks
 * `/ready`. A check that takes too long counts as failed, as it does for a probe.
 */
export function measureReadiness({ registry }: Pick<Metrics, 'registry'>, isReady: () => Promise<boolean>): void {
  const help = '1 while /ready answers 200, for one of several processes at least; 0 otherwise'
  metricsIn(registry).gauge('fusion_ready', help, {
    aggregator: 'max',
    async collect() {
      this.set(Number(await Promise.race([isReady(), sleep(readinessMilliseconds, false, { ref: false })])))
    },
  })
}

/** Adds how long standard output has accepted no line of the log. */
export function measureLog({ registry }: Pick<Metrics, 'registry'>, stalledSeconds: () => number): void {
  const help =
    'How long standard output has accepted no line of the log; 0 otherwise. Lines that wait are lost with the process'
  metricsIn(registry).gauge('fusion_log_stalled_seconds', help, {
    aggregator: 'max',
    collect() {
      this.set(stalledSeconds())
    },
  })
}

/** Adds whether the nodes of a distributed database answer the process. For another database, no node is named. */
export function measureNodes({ registry }: Metrics, { driver }: { readonly driver: Pick<Driver, 'nodes'> }): void {
  const help = '1 while the node of a distributed database answers the process, 0 while it is down or hangs'
  metricsIn(registry).gauge('fusion_node_usable', help, {
    labelNames: ['node'],
    aggregator: 'min',
    collect() {
      this.reset()
      for (const node of driver.nodes?.() ?? []) this.set({ node: node.name }, Number(node.problem() === undefined))
    },
  })
}

/** Adds how much the database lacks of what its migrations have created, as `readMissing` lists it. */
export function measureMissing(metrics: Metrics, readMissing: () => Promise<readonly unknown[]>): void {
  const help = 'Indexes and triggers of the migrations that the database lacks: migrate status names them'
  const gauge = metricsIn(metrics.registry).gauge('fusion_schema_missing', help, {
    aggregator: 'max',
    collect: readBehind(metrics, 'schema', readMissing, (missing) => gauge.set(missing.length)),
  })
  // Not 0 before the first reading.
  gauge.remove()
}

/** How long numbers are shown again: less than Prometheus usually waits between two scrapes. */
const maxAgeMilliseconds = 10_000

/**
 * Returns the function that collects numbers which the database has. A scrape gets the numbers of the scrape before,
 * and starts to read new ones, so that it does not wait for a database that hangs. While reading fails, the last
 * numbers stay, and `fusion_numbers_age_seconds` says how old they are: an alert that waits for them goes on waiting.
 *
 * @param name of the numbers in that metric
 * @param read reads the numbers
 * @param show gives them to the gauges
 */
export function readBehind<Numbers>(
  { noteNumbers }: Pick<Metrics, 'noteNumbers'>,
  name: string,
  read: () => Promise<Numbers>,
  show: (numbers: Numbers) => void,
): () => void {
  let readAt = Number.NEGATIVE_INFINITY
  noteNumbers(name)
  return () => {
    if (performance.now() - readAt < maxAgeMilliseconds) return
    readAt = performance.now()
    read().then(
      (numbers) => {
        show(numbers)
        noteNumbers(name)
      },
      () => undefined,
    )
  }
}
