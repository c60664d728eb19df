import { type GatewayError, invalidField } from '@fusion-gateway/base'
import type { Database, Job, JobStatus } from '@fusion-gateway/database'
import { arityOf, type GivenValue, givenParameters, selectColumns } from '@fusion-gateway/prisma-trees'
import type { Parameter, Sql, Statement } from '@fusion-gateway/sql'
import { isPossibleId, removeOlder, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import type { Metrics } from '@fusion-gateway/telemetry'
import { batchSize, createBulkStatements, createStatements, type JobSelection, release } from './statements.ts'
import { type Backoff, canMake, type Failure, failureParameters, leaseOf, rejectedTransition } from './transitions.ts'

/** Makes the running jobs of a tenant wait again, as before their attempts. Returns how many. */
export function releaseJobs(sql: Sql, tenantAppId: string): Promise<number> {
  return sumOfBatches(batchSize, () => sql.execute(release, [tenantAppId]))
}

export interface JobKey {
  readonly tenantAppId: string
  readonly id: string
}

export interface HeldJob extends JobKey {
  readonly leaseToken: string
}

export interface NewJobRow {
  readonly id: string
  readonly jobType: string
  readonly payload: object | null
  readonly maxAttempts: number
  /** The job does not start earlier. Null and times in the past mean now. */
  readonly runAt: Date | null
  readonly idempotencyKey: string | null
}

export interface JobStoreOptions {
  readonly backoff: Backoff
  readonly metrics: Pick<Metrics, 'jobAttempts'>
}

type JobDatabase = Pick<Database, 'sql' | 'model' | 'driver'>

/** Creates the store by the statements of the gateway itself; `on` returns it by those of a request. */
export function createJobStore(database: JobDatabase, options: JobStoreOptions): JobStore {
  return new JobStore(database.sql, tableOf(database, options))
}

function tableOf({ model, driver }: JobDatabase, options: JobStoreOptions) {
  const { list, toRow } = selectColumns(model('Job'))
  const columns = list
    .split(', ')
    .map((column) => `job.${column}`)
    .join(', ')
  const toJob = (values: readonly unknown[]) => toRow(values) as Job
  return { ...options, ...createStatements(columns), bulk: createBulkStatements(model), toJob, driver }
}

/**
 * The store of the rows of jobs. A row holds all that is known about a job: its state, when it is due, its attempts and
 * its lease. Every function but `failExpired` and `removeFinished` changes rows with one statement, by the clock of the
 * database.
 *
 * The changes that a worker makes to a job it holds reject with BAD_USER_INPUT: NOT_FOUND if the tenant has no such
 * job, CONFLICT if the worker no longer holds it. `cancel` and `retry` return undefined, and change nothing, if the job
 * is in another state.
 */
export class JobStore {
  readonly #sql: Sql
  readonly #table: ReturnType<typeof tableOf>

  constructor(sql: Sql, table: ReturnType<typeof tableOf>) {
    this.#sql = sql
    this.#table = table
  }

  on(sql: Sql): JobStore {
    return new JobStore(sql, this.#table)
  }

  async find(key: JobKey): Promise<Job | undefined> {
    return isPossibleId(key.id) ? this.#row(this.#table.find, key) : undefined
  }

  async findStatus({ tenantAppId, id }: JobKey): Promise<JobStatus | undefined> {
    if (!isPossibleId(id)) return undefined
    const [found] = await this.#sql.of(tenantAppId).query(this.#table.findStatus, [tenantAppId, id])
    return found?.[0] as JobStatus | undefined
  }

  /** Finds those of some jobs that were cancelled, or that wait again because their tenant is suspended. */
  async findStopped(keys: readonly JobKey[]): Promise<(JobKey & { readonly isCancelled: boolean })[]> {
    const sql = this.#sql
    const ofServers = [...Map.groupBy(keys, ({ tenantAppId }) => sql.nodeOf(tenantAppId)).values()]
    const find = (keysOfServer: readonly JobKey[]) => {
      const tenants = [...new Set(keysOfServer.map(({ tenantAppId }) => tenantAppId))]
      return sql.of(tenants[0] ?? '').query(this.#table.findStopped, [tenants, keysOfServer.map(({ id }) => id)])
    }
    const results = await Promise.allSettled(ofServers.map(find))
    const [first] = results
    if (first?.status === 'rejected' && results.length === 1) throw first.reason
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    return found.map(([tenantAppId, id, status]) => ({
      tenantAppId: String(tenantAppId),
      id: String(id),
      isCancelled: status === 'CANCELLED',
    }))
  }

  async findByIdempotencyKeys(tenantAppId: string, keys: readonly string[]): Promise<Job[]> {
    return (await this.#sql.query(this.#table.findByIdempotencyKeys, [tenantAppId, keys])).map(this.#table.toJob)
  }

  /** Inserts jobs. Returns them without those whose idempotency key a job of the tenant has. */
  async insert(tenantAppId: string, jobs: readonly NewJobRow[]): Promise<Job[]> {
    const arity = arityOf(jobs)
    const given = givenParameters(jobs, insertedValues, arity)
    return (await this.#sql.query(this.#table.insert[arity], [tenantAppId, ...given])).map(this.#table.toJob)
  }

  /**
   * Claims due jobs of one tenant, as many of each type as possible, first of the types that are named first. Returns
   * them oldest first.
   */
  async claim(tenantAppId: string, { jobTypes, limit, leaseSeconds }: ClaimRequest): Promise<Job[]> {
    const parameters = [jobTypes, String(limit), String(leaseSeconds), tenantAppId, String(shareOf(limit, jobTypes))]
    const claimed = await this.#sql.of(tenantAppId).query(this.#table.claim, parameters)
    return oldestFirst(claimed.map(this.#table.toJob))
  }

  /**
   * Claims due jobs of all tenants, as many of each type as possible, and those of the tenants first that come after
   * the one that was served last with the type. Returns them in the order of the types and tenants.
   */
  async claimOfAllTenants(request: WorkerClaim): Promise<Job[]> {
    const { lastServed, jobTypes, limit, leaseSeconds } = request
    const share = shareOf(limit, jobTypes)
    if (this.#table.driver.isDistributed?.()) {
      const queues = await this.#sql.list(this.#table.listQueues, [jobTypes])
      return claimEachTenant(queues, request, share, this, (tenantAppId) => this.#sql.nodeOf(tenantAppId))
    }
    const tenants = jobTypes.map((type) => lastServed.get(type) ?? '')
    const parameters = [jobTypes, String(limit), String(leaseSeconds), tenants, String(share)]
    const claimed = await this.#sql.query(this.#table.claimOfAllTenants, parameters)
    // The last value is the place in the order.
    const queued = claimed.toSorted((one, other) => Number(one.at(-1)) - Number(other.at(-1)))
    return queued.map((values) => this.#table.toJob(values.slice(0, -1)))
  }

  async extendLease(held: HeldJob, leaseSeconds: number) {
    return leaseOf(await this.#changeHeld(held, this.#table.extendLease, [String(leaseSeconds)]))
  }

  reportProgress(held: HeldJob, progress: number, message: string | null): Promise<Job> {
    return this.#changeHeld(held, this.#table.reportProgress, [String(progress), message])
  }

  complete(held: HeldJob, result: object | null): Promise<Job> {
    return this.#endAttempt(held, this.#table.complete, [toJson(result)])
  }

  /** Ends an attempt. The job waits for the next one if the failure is retryable and attempts are left. */
  fail(held: HeldJob, failure: Failure): Promise<Job> {
    return this.#endAttempt(held, this.#table.fail, failureParameters(failure, this.#table.backoff))
  }

  async cancel(key: JobKey): Promise<Job | undefined> {
    return isPossibleId(key.id) ? this.#row(this.#table.cancel, key) : undefined
  }

  /** Makes a job due now, with the attempts that it has left and at least one. */
  retry(key: JobKey): Promise<Job | undefined> {
    return this.#row(this.#table.retry, key)
  }

  /**
   * Makes a transition of the oldest jobs of a selection, at most `limit`. Jobs that another transaction has locked are
   * left out. Returns how many.
   */
  changeAll(selection: JobSelection, limit: number): Promise<number> {
    const { change, parameters } = this.#table.bulk.change(selection, limit)
    return this.#sql.execute(change, parameters)
  }

  async countAll(selection: JobSelection): Promise<number> {
    const { count, parameters } = this.#table.bulk.count(selection)
    const [counted] = await this.#sql.query(count, parameters)
    return Number(counted?.[0])
  }

  /** Fails the attempts whose lease has expired, at most 500 of each tenant. Returns how many. */
  async failExpired(failure: Failure): Promise<number> {
    const { listExpired, failExpired, backoff, metrics } = this.#table
    const failed = await sumOfTenants(this.#sql, await this.#sql.list(listExpired), (tenantAppId, sql) =>
      sql.execute(failExpired, [tenantAppId, ...failureParameters(failure, backoff)]),
    )
    metrics.jobAttempts.inc({ outcome: 'lease_lost' }, failed)
    return failed
  }

  /** Removes jobs that finished more than `days` ago. Imported jobs have no such time. Returns how many. */
  removeFinished(days: number): Promise<number> {
    return removeOlder(this.#sql, { table: 'job', column: 'finished_at', age: `${days} days` })
  }

  async #row(sent: Statement, { tenantAppId, id }: JobKey, values: readonly Parameter[] = []) {
    const [found] = await this.#sql.of(tenantAppId).query(sent, [tenantAppId, id, ...values])
    return found && this.#table.toJob(found)
  }

  async #changeHeld(held: HeldJob, change: Statement, values: readonly Parameter[]): Promise<Job> {
    const changed = await this.#row(change, held, [held.leaseToken, ...values])
    if (changed) return changed
    const job = await this.find(held)
    if (!job) throw jobNotFound()
    if (!canMake('succeed', job.status)) throw rejectedTransition('succeed', job.status)
    throw invalidField('leaseToken', 'CONFLICT', 'is stale: the lease expired, and another worker holds the job')
  }

  async #endAttempt(held: HeldJob, change: Statement, values: readonly Parameter[]): Promise<Job> {
    const job = await this.#changeHeld(held, change, values)
    const { jobAttempts } = this.#table.metrics
    this.#sql.afterCommit(() => jobAttempts.inc({ outcome: outcomes[job.status] ?? 'failed' }))
    return job
  }
}

const outcomes: { readonly [Status in JobStatus]?: string } = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  PENDING: 'retried',
}

/** The values that an insertion takes, in the order of its statement. */
const insertedValues: readonly ((job: NewJobRow) => GivenValue)[] = [
  ({ id }) => id,
  ({ jobType }) => jobType,
  ({ payload }) => toJson(payload),
  ({ maxAttempts }) => maxAttempts,
  ({ runAt }) => runAt,
  ({ idempotencyKey }) => idempotencyKey,
]

/** How many jobs of each type a claim starts before it starts more of any. */
function shareOf(limit: number, jobTypes: readonly string[]): number {
  return Math.ceil(limit / jobTypes.length)
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

export function jobNotFound(): GatewayError {
  return invalidField('id', 'NOT_FOUND', 'is not the id of a job')
}

/**
 * Claims jobs of several tenants whose rows are on several servers: with one statement for each queue. The jobs of each
 * type get their share first, and then those that have more get what is left, as in the statement that claims jobs of
 * all tenants of one server.
 *
 * A server that fails costs only the jobs of its tenants.
 *
 * @param queues the types and tenants of those with due jobs
 * @param share of each type
 * @param nodeOf the name of the server that has the rows of a tenant
 * @returns the jobs in the order of the types, and of the tenants after the one that was served last with the type
 */
async function claimEachTenant(
  queues: readonly (readonly unknown[])[],
  { jobTypes, limit, leaseSeconds, lastServed }: WorkerClaim,
  share: number,
  store: Pick<JobStore, 'claim'>,
  nodeOf: (tenantAppId: string) => string,
): Promise<Job[]> {
  const failed = new Map<string, unknown>()
  const claimed = new Map<string, Job[]>(jobTypes.map((type) => [type, []]))
  const waiting = new Map(jobTypes.map((type) => [type, inTurn(queues, type, lastServed.get(type) ?? '')]))
  let left = limit
  for (const most of [share, limit]) {
    for (const [type, jobs] of claimed) {
      const tenants = waiting.get(type) ?? []
      for (const tenantAppId of [...tenants]) {
        const wanted = Math.min(most - jobs.length, left)
        if (wanted <= 0) break
        const node = nodeOf(tenantAppId)
        const got = failed.has(node)
          ? []
          : await store
              .claim(tenantAppId, { jobTypes: [type], limit: wanted, leaseSeconds })
              .catch((error: unknown) => {
                failed.set(node, error)
                return []
              })
        jobs.push(...got)
        left -= got.length
        if (got.length < wanted) tenants.shift()
      }
    }
  }
  const all = [...claimed.values()].flat()
  // The jobs that were claimed must run.
  if (all.length === 0) for (const error of failed.values()) throw error
  return all
}

/** The tenants with jobs of a type, those after one first. */
function inTurn(queues: readonly (readonly unknown[])[], type: string, last: string): string[] {
  const tenants = queues.filter(([jobType]) => jobType === type).map(([, tenantAppId]) => String(tenantAppId))
  const sorted = tenants.sort()
  return [...sorted.filter((tenant) => tenant > last), ...sorted.filter((tenant) => tenant <= last)]
}

interface ClaimRequest {
  /** In the order in which they are served. */
  readonly jobTypes: readonly string[]
  readonly limit: number
  readonly leaseSeconds: number
}

interface WorkerClaim extends ClaimRequest {
  readonly lastServed: ReadonlyMap<string, string>
}
