import { Gauge } from '@prometheus-io/client'
import type { StatementMeter } from '../../engine/db/statement-meter.ts'
import type { Metrics } from '../../engine/telemetry/metrics.ts'
import type { JobStore } from './store/job-store.ts'

/** How long the numbers are used again: less than Prometheus usually waits between two scrapes. */
const maxAgeMilliseconds = 10_000

/**
 * Adds the jobs of all tenants to the metrics of a process. A scrape gets the numbers of the scrape before and starts
 * to read new ones, so that it does not wait for a database that hangs. While the database fails, the metrics have no
 * numbers.
 */
export function measureJobs({ registry }: Metrics, jobs: Pick<JobStore, 'count'>, meter: StatementMeter): void {
  const options = { aggregator: 'max' as const, registers: [registry] }
  let readAt = Number.NEGATIVE_INFINITY

  const oldestDue = new Gauge({
    ...options,
    name: 'fusion_jobs_oldest_due_seconds',
    help: 'How long the oldest due job of all tenants waits for a worker',
  })
  const byState = new Gauge({
    ...options,
    name: 'fusion_jobs',
    help: 'Jobs of all tenants by state, counted up to 10,000',
    labelNames: ['state'] as const,
    collect() {
      if (performance.now() - readAt < maxAgeMilliseconds) return
      readAt = performance.now()
      // The statements do not belong to the request that reads the metrics.
      meter.run({ statements: 0 }, jobs.count).then(show, clear)
    },
  })
  clear()

  function show({ states, oldestDueSeconds }: Awaited<ReturnType<JobStore['count']>>): void {
    for (const [state, count] of states) byState.set({ state }, count)
    oldestDue.set(oldestDueSeconds)
  }

  function clear(): void {
    byState.reset()
    oldestDue.remove()
  }
}
