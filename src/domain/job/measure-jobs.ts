import { Gauge } from '@prometheus-io/client'
import type { StatementMeter } from '../../engine/db/statement-meter.ts'
import { readBehind } from '../../engine/telemetry/measure-nodes.ts'
import type { Metrics } from '../../engine/telemetry/metrics.ts'
import type { JobStore } from './store/job-store.ts'

/** Adds the jobs of all tenants to the metrics of a process. While the database fails, the metrics have no numbers. */
export function measureJobs({ registry }: Metrics, jobs: Pick<JobStore, 'count'>, meter: StatementMeter): void {
  const options = { aggregator: 'max' as const, registers: [registry] }
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
    // The statements do not belong to the request that reads the metrics.
    collect: readBehind(() => meter.run({ statements: 0 }, jobs.count), show, clear),
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
