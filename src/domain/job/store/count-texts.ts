import { statement } from '../../../engine/db/statement.ts'

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
 * The seconds for which the oldest due job of all tenants has waited. A queue is the waiting jobs of one type and
 * tenant. The index is asked for one queue after the other, so that the cost depends on their number, and not on that
 * of the jobs.
 */
const oldestDueSeconds = statement(`
  WITH RECURSIVE queue AS (
    (${firstOfQueue('job_type IS NOT NULL')})
    UNION ALL
    SELECT following.* FROM queue CROSS JOIN LATERAL (
      ${firstOfQueue('(job_type, tenant_app_id) > (queue.job_type, queue.tenant_app_id)')}) AS following)
  SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0)::double precision
  FROM (SELECT run_at FROM queue LIMIT ${maxQueues}) AS first WHERE run_at <= now()`)

/** The statements about the jobs of all tenants on one server. */
export const ofServer = { countByState, oldestDueSeconds }

/**
 * The same for tenants on several servers. They cannot search for one queue after the other there: each counts its own
 * jobs, all of them, by an index. The number of a state is the same up to the bound.
 */
export const ofServers: typeof ofServer = {
  countByState: statement(`
    SELECT state.name::text, least(coalesce(counted.count, 0), ${maxCounted}) FROM unnest(enum_range(NULL::job_status)) AS state (name)
    LEFT JOIN (SELECT status, count(*) FROM job GROUP BY status) AS counted ON counted.status = state.name`),
  oldestDueSeconds: statement(`
    SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0)::double precision FROM job
    WHERE status = 'PENDING' AND job_type IS NOT NULL AND run_at <= now()`),
}
