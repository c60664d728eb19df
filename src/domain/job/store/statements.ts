import type { JobStatus } from '@fusion-gateway/database'
import { type Arity, createClause, createOwnerships, type DataModel, unnestRows } from '@fusion-gateway/prisma-trees'
import { type Statement, statement, write } from '@fusion-gateway/sql'
import { isSuspended, suspendedTenants } from '../../suspension/suspension.ts'
import { defaultMaxAttempts, maxTypeLength, typePattern } from '../job.input.ts'
import { statesBefore, type Transition } from './transitions.ts'

/** How many jobs of a tenant one statement fails or releases. */
export const batchSize = 500

// Columns hold milliseconds. Rounding could put `run_at` into the future, and a job would not be due when it is
// announced.
const now = `date_trunc('milliseconds', now())`

const withoutLease = 'lease_token = NULL, lease_expires_at = NULL'

/** The states in which a job can make a transition: `'PENDING', 'RUNNING'`. */
const literalsBefore = (transition: Transition) =>
  statesBefore(transition)
    .map((state) => `'${state}'`)
    .join(', ')

const toCancelled = `
  UPDATE job SET status = 'CANCELLED', finished_at = ${now}, updated_at = ${now}, ${withoutLease}`

/** One more, up to the greatest number that the column holds: an imported job can have it. */
const nextAttempt = 'least(attempts, 2147483646) + 1'

/** Makes a job due now, with the attempts that it has left and at least one. */
const toRetried = `
  UPDATE job SET
    status = 'PENDING', run_at = ${now}, max_attempts = greatest(coalesce(max_attempts, ${defaultMaxAttempts}), ${nextAttempt}),
    progress = NULL, progress_message = NULL, started_at = NULL, finished_at = NULL, updated_at = ${now}, ${withoutLease}`

/** The statements of a job store, which return these columns of `job`. */
export function createStatements(columns: string) {
  const ofKey = 'tenant_app_id = $1 AND id = $2'
  const ofHolder = `${ofKey} AND lease_token = $3`
  return {
    find: statement(`SELECT ${columns} FROM job WHERE ${ofKey}`),
    findStatus: statement(`SELECT status FROM job WHERE ${ofKey}`, { isShortRead: true }),
    findStopped: statement(`
      SELECT tenant_app_id, id, status FROM job
      WHERE tenant_app_id = ANY ($1::text[]) AND id = ANY ($2::text[])
        AND (status = 'CANCELLED' OR (status = 'PENDING' AND ${isSuspended('job.tenant_app_id')}))`),
    findByIdempotencyKeys: statement(
      `SELECT ${columns} FROM job WHERE tenant_app_id = $1 AND idempotency_key = ANY ($2)`,
    ),
    insert: { one: insertJobs('one', columns), many: insertJobs('many', columns) },
    claim: claimOfTenant(columns),
    claimOfAllTenants: claimOfAllTenants(columns),
    listQueues: statement(`
      SELECT job_type, tenant_app_id FROM job
      WHERE status = 'PENDING' AND job_type = ANY ($1::text[]) AND run_at <= now() AND NOT ${isSuspended('job.tenant_app_id')}
      GROUP BY 1, 2`),
    extendLease: write(
      `
      UPDATE job SET lease_expires_at = now() + make_interval(secs => $4::integer)
      WHERE ${ofHolder}`,
      columns,
    ),
    reportProgress: write(
      `
      UPDATE job SET progress = $4::double precision, progress_message = $5, updated_at = ${now}
      WHERE ${ofHolder}`,
      columns,
    ),
    complete: write(
      `
      UPDATE job SET
        status = 'SUCCEEDED', result = $4::json, error = NULL, finished_at = ${now}, updated_at = ${now}, ${withoutLease}
      WHERE ${ofHolder} AND status IN (${literalsBefore('succeed')})`,
      columns,
    ),
    fail: write(
      `${failWith('$4', '$5', '$6', '$7', '$8', '$9')}
      WHERE ${ofHolder} AND status IN (${literalsBefore('fail')})`,
      columns,
    ),
    cancel: write(
      `${toCancelled}
      WHERE ${ofKey} AND status IN (${literalsBefore('cancel')})`,
      columns,
    ),
    retry: write(
      `${toRetried}
      WHERE ${ofKey} AND status IN (${literalsBefore('retry')})`,
      columns,
    ),
    listExpired: statement(
      `SELECT DISTINCT tenant_app_id FROM job WHERE status = 'RUNNING' AND lease_expires_at < now()`,
    ),
    failExpired: write(`${failWith('$2', '$3', '$4', '$5', '$6', '$7')}
      WHERE tenant_app_id = $1 AND id IN (
        SELECT id FROM job WHERE tenant_app_id = $1 AND status = 'RUNNING' AND lease_expires_at < now()
        ORDER BY lease_expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`),
  }
}

/**
 * Makes running jobs of a tenant wait again, as before their attempts. Imported jobs that were running elsewhere have
 * no lease, and stay. Parameter: tenant.
 */
export const release = write(`
  UPDATE job SET
    status = 'PENDING', attempts = greatest(attempts - 1, 0), run_at = ${now}, started_at = NULL, progress = NULL,
    progress_message = NULL, updated_at = ${now}, ${withoutLease}
  WHERE tenant_app_id = $1 AND id = ANY (ARRAY(
    SELECT id FROM job WHERE tenant_app_id = $1 AND status IN (${literalsBefore('release')}) AND lease_token IS NOT NULL
    ORDER BY created_at, id LIMIT ${batchSize} FOR UPDATE))`)

function insertJobs(arity: Arity, columns: string): Statement {
  return write(
    `
    INSERT INTO job (tenant_app_id, id, job_type, payload, max_attempts, run_at, idempotency_key, created_at, updated_at)
    SELECT $1, given_id, given_job_type, given_payload::json, given_max_attempts::integer,
      greatest(given_run_at::timestamptz, ${now}), given_idempotency_key, ${now}, ${now}
    FROM ${unnestRows(['id', 'job_type', 'payload', 'max_attempts', 'run_at', 'idempotency_key'], 2, arity)}
    ON CONFLICT DO NOTHING`,
    columns,
  )
}

/**
 * Ends an attempt: the job is due again after the back-off, or later if asked for, if an attempt is left, and has
 * failed otherwise.
 */
function failWith(...[code, message, isRetryable, delay, maxDelay, retryAfter]: readonly string[]): string {
  const isAttemptLeft = `${isRetryable}::boolean AND attempts < coalesce(max_attempts, 0)`
  const seconds = `${delay}::double precision * 2 ^ least(attempts - 1, 100) * (1 + node_random(job.tenant_app_id))`
  return `
    UPDATE job SET
      status = CASE WHEN ${isAttemptLeft} THEN 'PENDING'::job_status ELSE 'FAILED'::job_status END,
      run_at = CASE WHEN ${isAttemptLeft}
        THEN node_later(job.tenant_app_id, greatest(${retryAfter}::double precision, least(${maxDelay}::double precision, ${seconds}))) ELSE run_at END,
      started_at = CASE WHEN ${isAttemptLeft} THEN NULL ELSE started_at END,
      finished_at = CASE WHEN ${isAttemptLeft} THEN NULL ELSE node_now(job.tenant_app_id) END,
      error = node_error(job.tenant_app_id, ${code}::text, ${message}::text, attempts),
      updated_at = ${now}, ${withoutLease}`
}

// A queue is the due jobs of one tenant and type, in the order of run_at. Claiming is one statement, however many
// queues there are. Rows that another claim has locked are skipped, so claims never wait for each other.

/** The jobs of a queue that are due. `run_at` is null for imported jobs, which are never worked on. */
const dueJobs = (tenant: string, type: string) => `
  SELECT tenant_app_id, id FROM job
  WHERE status = 'PENDING' AND job_type = ${type} AND tenant_app_id = ${tenant} AND run_at <= now()
  ORDER BY run_at LIMIT $2::integer FOR UPDATE SKIP LOCKED`

/** The most jobs that a claim starts. With a parameter, the planner would join large parts of the table. */
const maxClaimed = 100

/**
 * Starts jobs of several types. Each type gets its share of the limit, in the order of the types, and then those that
 * have more jobs get what is left. The second round locks the rows of the first one again, which costs nothing, and
 * leaves them out. It is not executed if the first one finds no job. ORDER BY would lock all due jobs; without it
 * PostgreSQL follows the order of the joins.
 *
 * @param types the types, as an item of FROM with the alias `type`. The first parameters are the types, the limit and
 *   the seconds of the lease
 * @param dueOfType selects the tenants and ids of the due jobs of `type.name`
 * @param share the parameter with the share of each type
 */
function startDue(types: string, dueOfType: string, share: string, returned: string, ofTenant = ''): Statement {
  return write(
    `
    WITH shares AS MATERIALIZED (
      SELECT claimed.* FROM ${types} CROSS JOIN LATERAL (SELECT * FROM (${dueOfType}) AS own LIMIT ${share}::integer) AS claimed
      LIMIT $2::integer),
    due AS (
      SELECT *, row_number() OVER () AS turn FROM (
        SELECT * FROM shares
        UNION ALL
        SELECT further.* FROM ${types} CROSS JOIN LATERAL (
          SELECT * FROM (${dueOfType}) AS own LIMIT $2::integer OFFSET ${share}::integer) AS further
        WHERE ${share}::integer < $2::integer AND EXISTS (SELECT FROM shares)
        LIMIT $2::integer) AS limited
      LIMIT ${maxClaimed})
    UPDATE job SET
      status = 'RUNNING', attempts = ${nextAttempt}, started_at = now(), updated_at = now(),
      progress = NULL, progress_message = NULL,
      lease_token = node_uuid(job.tenant_app_id), lease_expires_at = now() + make_interval(secs => $3::integer)
    FROM due WHERE job.tenant_app_id = due.tenant_app_id AND job.id = due.id ${ofTenant}`,
    returned,
  )
}

/**
 * Claims jobs of one tenant.
 * Parameters: types in the order in which they are served, limit, seconds of the lease, tenant, share of each type.
 */
function claimOfTenant(columns: string): Statement {
  const types = 'unnest($1::text[]) AS type (name)'
  return startDue(types, dueJobs('$4', 'type.name'), '$5', columns, 'AND job.tenant_app_id = $4')
}

/**
 * Claims jobs of all tenants. The queues of the tenants after the one that was served last with a type come first and
 * the others follow, so that a worker which passes these tenants serves all of them in turn. The index is asked for one
 * tenant after the other: the cost depends on the number of tenants with waiting jobs, not on the number of jobs. The
 * tenants that are suspended are read once, by their index.
 * Parameters: types in the order in which they are served, limit, seconds of the lease, the tenant served last with
 * each type, share of each type. The last column of the result is the turn.
 */
function claimOfAllTenants(columns: string): Statement {
  const nextTenant = (after: string) => `
    SELECT tenant_app_id FROM job
    WHERE status = 'PENDING' AND job_type = type.name AND tenant_app_id > ${after}
    ORDER BY tenant_app_id LIMIT 1`
  const due = `
    SELECT claimed.* FROM (VALUES (1, type.last_served, NULL), (2, '', type.last_served)) AS round (number, after, up_to)
    CROSS JOIN LATERAL (
      WITH RECURSIVE tenant (id) AS (
        (${nextTenant('round.after')})
        UNION ALL
        SELECT following.tenant_app_id FROM tenant CROSS JOIN LATERAL (${nextTenant('tenant.id')}) AS following)
      SELECT id FROM tenant WHERE (round.up_to IS NULL OR id <= round.up_to) AND id NOT IN ${suspendedTenants}) AS tenant
    CROSS JOIN LATERAL (${dueJobs('tenant.id', 'type.name')}) AS claimed`
  return startDue('unnest($1::text[], $4::text[]) AS type (name, last_served)', due, '$5', `${columns}, due.turn`)
}

/** The transitions that many jobs can make at once. `where`: what a job needs for it besides its state. */
const changes = {
  cancel: { update: toCancelled, where: [] },
  retry: {
    update: toRetried,
    // No worker can name another type.
    where: [`job_type ~ '${typePattern.source}'`, `length(job_type) <= ${maxTypeLength}`],
  },
} as const

export type BulkTransition = keyof typeof changes

/** The jobs of a tenant that can make a transition and are selected. */
export interface JobSelection {
  readonly tenantAppId: string
  readonly transition: BulkTransition
  /** States in which the transition is possible. */
  readonly states: readonly JobStatus[]
  /** Which jobs, as Prisma Client takes it. */
  readonly where: object
}

export function createBulkStatements(model: DataModel) {
  const ownershipOf = createOwnerships(model)

  function clauseOf({ tenantAppId, transition, states, where }: JobSelection) {
    const { parts, parameters, parameter } = createClause(model, 'Job', ownershipOf({ id: tenantAppId }), where)
    const all = [...parts, ...changes[transition].where]
    // The embedded database knows the list types that exist when it starts. On its first start that is before the
    // migrations.
    return { where: all.join(' AND '), states: `${parameter(states, 'text[]')}::job_status[]`, parameters, parameter }
  }

  return {
    /**
     * Changes the oldest jobs. An index has the jobs of each state in their order, so each state is read on its own, up
     * to the limit. The ids are an array, which leads PostgreSQL to the primary key. It would estimate the rows of a
     * join, and could read the whole table.
     */
    change(selection: JobSelection, limit: number) {
      const { where, states, parameters, parameter } = clauseOf(selection)
      const count = parameter(String(limit), 'integer')
      const text = `${changes[selection.transition].update}
      WHERE tenant_app_id = $1 AND id = ANY (ARRAY(
        SELECT oldest.id FROM unnest(${states}) AS state (name)
        CROSS JOIN LATERAL (
          SELECT id, created_at FROM job WHERE ${where} AND status = state.name
          ORDER BY created_at, id LIMIT ${count} FOR UPDATE SKIP LOCKED) AS oldest
        ORDER BY oldest.created_at, oldest.id LIMIT ${count}))`
      return { change: write(text), parameters }
    },
    count(selection: JobSelection) {
      const { where, states, parameters } = clauseOf(selection)
      return { count: statement(`SELECT count(*) FROM job WHERE ${where} AND status = ANY (${states})`), parameters }
    },
  }
}
