import { type Statement, statement } from '../../../engine/db/statement.ts'

// A queue is the due jobs of one tenant and type, in the order of run_at. Claiming is one statement, however many queues
// there are. Rows that another claim has locked are skipped, so claims never wait for each other.

/** The jobs of a queue that are due. `run_at` is null for imported jobs, which are never worked on. */
const dueJobs = (tenant: string, type: string) => `
  SELECT tenant_app_id, id FROM job
  WHERE status = 'PENDING' AND job_type = ${type} AND tenant_app_id = ${tenant} AND run_at <= now()
  ORDER BY run_at LIMIT $2::integer FOR UPDATE SKIP LOCKED`

/** The most jobs that a claim starts. The planner does not know the limit in the parameter, and would join large parts of the table. */
const maxClaimed = 100

const start = (due: string, columns: string, ofTenant = '') => `
  WITH due AS (SELECT * FROM (${due}) AS limited LIMIT ${maxClaimed})
  UPDATE job SET
    status = 'RUNNING', attempts = attempts + 1, started_at = now(), updated_at = now(),
    progress = NULL, progress_message = NULL,
    lease_token = gen_random_uuid()::text, lease_expires_at = now() + make_interval(secs => $3::integer)
  FROM due WHERE job.tenant_app_id = due.tenant_app_id AND job.id = due.id ${ofTenant}
  RETURNING ${columns}`

/**
 * Claims jobs of one tenant.
 * Parameters: types in the order in which they are claimed, limit, seconds of the lease, tenant.
 */
export function claimOfTenant(columns: string): Statement {
  const due = `
    SELECT claimed.* FROM unnest($1::text[]) WITH ORDINALITY AS type (name, position)
    CROSS JOIN LATERAL (${dueJobs('$4', 'type.name')}) AS claimed
    ORDER BY type.position LIMIT $2::integer`
  return statement(start(due, columns, 'AND job.tenant_app_id = $4'))
}

/**
 * Claims jobs of all tenants, in a fair order: first from the queues of the tenants after the one that was served last, then from
 * the others. The index is searched for one tenant after the other: the
 * cost depends on the number of tenants with waiting jobs, not on the number of jobs. ORDER BY would lock the due jobs of all
 * tenants; without it PostgreSQL follows the order of the joins, because each depends on the previous one.
 * Parameters: types, limit, seconds of the lease, the tenant served last. The last column of the result is the position in this order.
 */
export function claimOfAllTenants(columns: string): Statement {
  const nextTenant = (after: string) => `
    SELECT tenant_app_id FROM job
    WHERE status = 'PENDING' AND job_type = type.name AND tenant_app_id > ${after}
    ORDER BY tenant_app_id LIMIT 1`
  const due = `
    SELECT claimed.*, row_number() OVER () AS turn FROM (VALUES (1, $4, NULL), (2, '', $4)) AS lap (number, after, up_to)
    CROSS JOIN unnest($1::text[]) AS type (name)
    CROSS JOIN LATERAL (
      WITH RECURSIVE tenant (id) AS (
        (${nextTenant('lap.after')})
        UNION ALL
        SELECT following.tenant_app_id FROM tenant CROSS JOIN LATERAL (${nextTenant('tenant.id')}) AS following)
      SELECT id FROM tenant WHERE lap.up_to IS NULL OR id <= lap.up_to) AS tenant
    CROSS JOIN LATERAL (${dueJobs('tenant.id', 'type.name')}) AS claimed
    LIMIT $2::integer`
  return statement(start(due, `${columns}, due.turn`))
}
