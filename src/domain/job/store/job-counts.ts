import type { Database } from '@fusion-gateway/database'
import { statement } from '@fusion-gateway/sql'
import { type Metrics, metricsIn, readBehind } from '@fusion-gateway/telemetry'
import { isSuspended, suspendedTenants } from '../../suspension/suspension.ts'

// How many jobs all tenants have, and how long they wait.

/**
 * How many jobs of a state are counted at most, and how many queues are searched. They bound what the statements read.
 */
const maxCounted = 10_000
const maxQueues = 1_000

/**
 * Counts the jobs of all tenants by state. The order makes PostgreSQL read the index, where it could otherwise search
 * the table for a rare state.
 */
const countByState = statement(`
  SELECT state.name::text, (
    SELECT count(*) FROM (
      SELECT FROM job WHERE status = state.name ORDER BY job_type, tenant_app_id, run_at LIMIT ${maxCounted}) AS counted)
  FROM unnest(enum_range(NULL::job_status)) AS state (name)`)

const firstOfQueue = (condition: string) => `
  SELECT job_type, tenant_app_id, run_at FROM job WHERE status = 'PENDING' AND ${condition}
  ORDER BY job_type, tenant_app_id, run_at LIMIT 1`

/**
 * The seconds for which the oldest due job has waited, of all tenants that are not suspended. A queue is the waiting
 * jobs of one type and tenant. The index is asked for one queue after the other, so that the cost depends on their
 * number, and not on that of the jobs.
 */
const oldestDueSeconds = statement(`
  WITH RECURSIVE queue AS (
    (${firstOfQueue('job_type IS NOT NULL')})
    UNION ALL
    SELECT following.* FROM queue CROSS JOIN LATERAL (
      ${firstOfQueue('(job_type, tenant_app_id) > (queue.job_type, queue.tenant_app_id)')}) AS following)
  SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0)::double precision
  FROM (SELECT run_at, tenant_app_id FROM queue LIMIT ${maxQueues}) AS first
  WHERE run_at <= now() AND tenant_app_id NOT IN ${suspendedTenants}`)

const ofServer = { countByState, oldestDueSeconds }

/**
 * The same for tenants on several servers. They cannot search for one queue after the other there: each counts its own
 * jobs, all of them, by an index. The number of a state is the same up to the bound.
 */
const ofServers: typeof ofServer = {
  countByState: statement(`
    SELECT state.name::text, least(coalesce(counted.count, 0), ${maxCounted}) FROM unnest(enum_range(NULL::job_status)) AS state (name)
    LEFT JOIN (SELECT status, count(*) FROM job GROUP BY status) AS counted ON counted.status = state.name`),
  oldestDueSeconds: statement(`
    SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0)::double precision FROM job
    WHERE status = 'PENDING' AND job_type IS NOT NULL AND run_at <= now() AND NOT ${isSuspended('job.tenant_app_id')}`),
}

/** Counts the jobs of all tenants by state, up to 10,000 of each, and how long the oldest due one waits. */
export async function countJobs({ sql, driver }: Pick<Database, 'sql' | 'driver'>) {
  const texts = driver.isDistributed?.() ? ofServers : ofServer
  const [states, oldest] = await Promise.all([sql.list(texts.countByState), sql.list(texts.oldestDueSeconds)])
  const counts = new Map<string, number>()
  for (const [state, count] of states) {
    const sum = (counts.get(String(state)) ?? 0) + Number(count)
    counts.set(String(state), Math.min(sum, maxCounted))
  }
  return { states: [...counts], oldestDueSeconds: Math.max(0, ...oldest.map(([seconds]) => Number(seconds))) }
}

/** Adds the jobs of all tenants to the metrics of a process. While the database fails, the last numbers stay. */
export function measureJobs(metrics: Metrics, count: () => ReturnType<typeof countJobs>): void {
  const { gauge } = metricsIn(metrics.registry)
  const oldestDue = gauge(
    'fusion_jobs_oldest_due_seconds',
    'How long the oldest due job of all tenants waits for a worker',
    { aggregator: 'max' },
  )
  const byState = gauge('fusion_jobs', 'Jobs of all tenants by state, counted up to 10,000', {
    labelNames: ['state'],
    aggregator: 'max',
    // The statements do not belong to the request that reads the metrics.
    collect: readBehind(metrics, 'jobs', count, show),
  })
  // Not 0 before the first reading.
  oldestDue.remove()

  function show({ states, oldestDueSeconds }: Awaited<ReturnType<typeof count>>): void {
    for (const [state, count] of states) byState.set({ state }, count)
    oldestDue.set(oldestDueSeconds)
  }
}
