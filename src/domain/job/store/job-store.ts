import type { Database } from '../../../engine/db/database.ts'
import type { Job } from '../../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../../engine/db/ids.ts'
import { selectColumns } from '../../../engine/db/read/columns.ts'
import { execute, type Parameter, query, type Statement, statement } from '../../../engine/db/statement.ts'
import { type GatewayError, invalidField } from '../../../engine/errors.ts'
import { createJobRules, type JobLimits, type JobRules } from '../job.input.ts'
import { claimOfAllTenants, claimOfTenant } from './claim.ts'
import { statesBefore } from './transitions.ts'

/** How long a failed attempt delays the next one: the delay doubles with each attempt, up to the maximum. */
export interface Backoff {
  readonly delaySeconds: number
  readonly maxDelaySeconds: number
}

export interface JobKey {
  readonly tenantAppId: string
  readonly id: string
}

/** A job and the lease under which a worker holds it. */
export interface HeldJob extends JobKey {
  readonly leaseToken: string
}

export interface NewJobRow extends JobKey {
  readonly jobType: string
  readonly payload: object | null
  readonly maxAttempts: number
  /** The job does not start earlier. Null and times in the past mean now. */
  readonly runAt: Date | null
  readonly idempotencyKey: string | null
}

/** Why an attempt failed, and whether another attempt can succeed. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly isRetryable: boolean
}

export interface ClaimRequest {
  readonly jobTypes: readonly string[]
  readonly limit: number
  readonly leaseSeconds: number
}

/**
 * The rows of jobs. A row holds all that is known about a job: its state, when it is due, its attempts and its lease. Every
 * function but `removeFinished` is one statement, by the clock of the database. A transition returns undefined, and changes nothing, if the job
 * is in another state or held under another lease.
 */
export interface JobStore {
  /** What payloads and results may be. */
  readonly rules: JobRules
  find(key: JobKey): Promise<Job | undefined>
  findByIdempotencyKey(tenantAppId: string, idempotencyKey: string): Promise<Job | undefined>
  /** Returns undefined if the tenant has a job with the same idempotency key. */
  insert(job: NewJobRow): Promise<Job | undefined>
  /** Claims due jobs of one tenant, those of the first types first. Returns them oldest first. */
  claim(tenantAppId: string, request: ClaimRequest): Promise<Job[]>
  /** Claims due jobs of all tenants, first those of the tenants after the one that was served last. Returns them in this order. */
  claimOfAllTenants(lastServed: string, request: ClaimRequest): Promise<Job[]>
  extendLease(held: HeldJob, leaseSeconds: number): Promise<Job | undefined>
  reportProgress(held: HeldJob, progress: number, message: string | null): Promise<Job | undefined>
  complete(held: HeldJob, result: object | null): Promise<Job | undefined>
  /** Ends an attempt. The job waits for the next one if the failure is retryable and attempts are left. */
  fail(held: HeldJob, failure: Failure): Promise<Job | undefined>
  cancel(key: JobKey): Promise<Job | undefined>
  /** Makes a job due now, with its remaining attempts, but at least one. */
  retry(key: JobKey, defaultMaxAttempts: number): Promise<Job | undefined>
  /**
   * Fails the attempts whose lease has expired, at most 500.
   *
   * @returns how many
   */
  failExpired(failure: Failure): Promise<number>
  /**
   * Removes jobs that finished more than `days` ago, in small batches. Imported jobs have no finishing time and stay.
   *
   * @returns how many
   */
  removeFinished(days: number): Promise<number>
  /** Reads the clock that the rows are written by. */
  readClock(): Promise<Date>
}

export interface JobStoreOptions {
  readonly backoff: Backoff
  readonly jobLimits: JobLimits
}

/** Creates the job store of a migrated database. */
export function createJobStore(
  { sql, model }: Pick<Database, 'sql' | 'model'>,
  { backoff: { delaySeconds, maxDelaySeconds }, jobLimits }: JobStoreOptions,
): JobStore {
  const { list, toRow } = selectColumns(model('Job'))
  const columns = list
    .split(', ')
    .map((column) => `job.${column}`)
    .join(', ')
  const statements = createStatements(columns)
  const backoff = [String(delaySeconds), String(maxDelaySeconds)]

  async function rows(sent: Statement, parameters: readonly Parameter[]): Promise<Job[]> {
    return (await query(sql, sent, parameters)).map((values) => toRow(values) as unknown as Job)
  }
  async function row(sent: Statement, parameters: readonly Parameter[]): Promise<Job | undefined> {
    return (await rows(sent, parameters))[0]
  }
  const keyOf = ({ tenantAppId, id }: JobKey) => [tenantAppId, id]
  const heldKeyOf = (held: HeldJob) => [...keyOf(held), held.leaseToken]
  const failureOf = ({ code, message, isRetryable }: Failure) => [code, message, String(isRetryable), ...backoff]

  return {
    rules: createJobRules(jobLimits),
    // No statement is sent for an id that no row can have.
    find: async (key) => (isPossibleId(key.id) ? row(statements.find, keyOf(key)) : undefined),
    findByIdempotencyKey: (...key) => row(statements.findByIdempotencyKey, key),
    insert: ({ jobType, payload, maxAttempts, runAt, idempotencyKey, ...key }) =>
      row(statements.insert, [
        ...keyOf(key),
        jobType,
        toJson(payload),
        String(maxAttempts),
        runAt?.toISOString() ?? null,
        idempotencyKey,
      ]),
    claim: async (tenantAppId, { jobTypes, limit, leaseSeconds }) =>
      oldestFirst(await rows(statements.claim, [jobTypes, String(limit), String(leaseSeconds), tenantAppId])),
    async claimOfAllTenants(lastServed, { jobTypes, limit, leaseSeconds }) {
      const parameters = [jobTypes, String(limit), String(leaseSeconds), lastServed]
      const claimed = await query(sql, statements.claimOfAllTenants, parameters)
      const queued = claimed.toSorted((one, other) => Number(one.at(-1)) - Number(other.at(-1)))
      return queued.map((values) => toRow(values) as unknown as Job)
    },
    extendLease: (held, seconds) => row(statements.extendLease, [...heldKeyOf(held), String(seconds)]),
    reportProgress: (held, progress, message) =>
      row(statements.reportProgress, [...heldKeyOf(held), String(progress), message]),
    complete: (held, result) => row(statements.complete, [...heldKeyOf(held), toJson(result)]),
    fail: (held, failure) => row(statements.fail, [...heldKeyOf(held), ...failureOf(failure)]),
    cancel: async (key) => (isPossibleId(key.id) ? row(statements.cancel, keyOf(key)) : undefined),
    retry: (key, defaultMaxAttempts) => row(statements.retry, [...keyOf(key), String(defaultMaxAttempts)]),
    failExpired: (failure) => execute(sql, statements.failExpired, failureOf(failure)),
    async removeFinished(days) {
      let removed = 0
      for (let batch = batchSize; batch === batchSize; removed += batch) {
        batch = await execute(sql, statements.removeFinished, [String(days)])
      }
      return removed
    },
    async readClock() {
      const [[time] = []] = await query(sql, clock)
      return new Date(String(time))
    },
  }
}

const batchSize = 500

// Columns hold milliseconds. Rounding could put `run_at` into the future, and a job would not be due when it is announced.
const now = `date_trunc('milliseconds', now())`

const clock = statement(`SELECT to_json(now()) #>> '{}'`)

const withoutLease = 'lease_token = NULL, lease_expires_at = NULL'

function createStatements(columns: string) {
  const ofKey = 'tenant_app_id = $1 AND id = $2'
  const ofHolder = `${ofKey} AND lease_token = $3`
  return {
    find: statement(`SELECT ${columns} FROM job WHERE ${ofKey}`),
    findByIdempotencyKey: statement(`SELECT ${columns} FROM job WHERE tenant_app_id = $1 AND idempotency_key = $2`),
    insert: statement(`
      INSERT INTO job (tenant_app_id, id, job_type, payload, max_attempts, run_at, idempotency_key, created_at, updated_at)
      VALUES ($1, $2, $3, $4::json, $5::integer, greatest($6::timestamptz, ${now}), $7, ${now}, ${now})
      ON CONFLICT DO NOTHING RETURNING ${columns}`),
    claim: claimOfTenant(columns),
    claimOfAllTenants: claimOfAllTenants(columns),
    extendLease: statement(`
      UPDATE job SET lease_expires_at = now() + make_interval(secs => $4::integer)
      WHERE ${ofHolder} RETURNING ${columns}`),
    reportProgress: statement(`
      UPDATE job SET progress = $4::double precision, progress_message = $5, updated_at = ${now}
      WHERE ${ofHolder} RETURNING ${columns}`),
    complete: statement(`
      UPDATE job SET
        status = 'SUCCEEDED', result = $4::json, error = NULL, finished_at = ${now}, updated_at = ${now}, ${withoutLease}
      WHERE ${ofHolder} AND status IN (${statesBefore('succeed')}) RETURNING ${columns}`),
    fail: statement(`${failWith('$4', '$5', '$6', '$7', '$8')}
      WHERE ${ofHolder} AND status IN (${statesBefore('fail')}) RETURNING ${columns}`),
    cancel: statement(`
      UPDATE job SET status = 'CANCELLED', finished_at = ${now}, updated_at = ${now}, ${withoutLease}
      WHERE ${ofKey} AND status IN (${statesBefore('cancel')}) RETURNING ${columns}`),
    retry: statement(`
      UPDATE job SET
        status = 'PENDING', run_at = ${now}, max_attempts = greatest(coalesce(max_attempts, $3::integer), attempts + 1),
        progress = NULL, progress_message = NULL, started_at = NULL, finished_at = NULL, updated_at = ${now}, ${withoutLease}
      WHERE ${ofKey} AND status IN (${statesBefore('retry')}) RETURNING ${columns}`),
    failExpired: statement(`${failWith('$1', '$2', '$3', '$4', '$5')}
      WHERE (tenant_app_id, id) IN (
        SELECT tenant_app_id, id FROM job WHERE status = 'RUNNING' AND lease_expires_at < now()
        ORDER BY lease_expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`),
    removeFinished: statement(`
      DELETE FROM job WHERE (tenant_app_id, id) IN (
        SELECT tenant_app_id, id FROM job WHERE finished_at < now() - make_interval(days => $1::integer)
        ORDER BY finished_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`),
  }
}

/** Ends an attempt: the job is due again after the back-off if an attempt is left, and has failed otherwise. */
function failWith(code: string, message: string, isRetryable: string, delay: string, maxDelay: string): string {
  const isAttemptLeft = `${isRetryable}::boolean AND attempts < coalesce(max_attempts, 0)`
  const seconds = `${delay}::double precision * 2 ^ (attempts - 1) * (1 + random())`
  return `
    UPDATE job SET
      status = (CASE WHEN ${isAttemptLeft} THEN 'PENDING' ELSE 'FAILED' END)::job_status,
      run_at = CASE WHEN ${isAttemptLeft}
        THEN now() + make_interval(secs => least(${maxDelay}::double precision, ${seconds})) ELSE run_at END,
      started_at = CASE WHEN ${isAttemptLeft} THEN NULL ELSE started_at END,
      finished_at = CASE WHEN ${isAttemptLeft} THEN NULL ELSE ${now} END,
      error = json_build_object('code', ${code}::text, 'message', ${message}::text, 'attempt', attempts,
        'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      updated_at = ${now}, ${withoutLease}`
}

function toJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** RETURNING promises no order. */
function oldestFirst(jobs: readonly Job[]): Job[] {
  return jobs.toSorted(
    (one, other) => one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1),
  )
}

/** The rejection of an id that no job of the tenant has. */
export function jobNotFound(): GatewayError {
  return invalidField('id', 'NOT_FOUND', 'is not the id of a job')
}
