import { type GatewayError, invalidField } from '@fusion-gateway/base'
import type { Database, Job, JobStatus } from '@fusion-gateway/database'
import { arityOf, type GivenValue, givenParameters, selectColumns } from '@fusion-gateway/prisma-trees'
import type { Sql } from '@fusion-gateway/sql'
import {
  isPossibleId,
  type Parameter,
  removeOlder,
  type Statement,
  statement,
  sumOfBatches,
  sumOfTenants,
} from '@fusion-gateway/sql'
import { type Metrics, metricsIn, readBehind } from '@fusion-gateway/telemetry'
import { isSuspended, suspendedTenants } from '../../suspension/suspension.ts'
import { batchSize, createBulkStatements, createStatements, type JobSelection, release } from './statements.ts'
import { type Backoff, canMake, type Failure, failureParameters, leaseOf, rejectedTransition } from './transitions.ts'

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

/**
 * Makes the running jobs of a tenant wait again, as before their attempts, which do not count. Their workers notice it
 * by the event log.
 *
 * @returns how many
 */
export function releaseJobs(sql: Sql, tenantAppId: string): Promise<number> {
  return sumOfBatches(batchSize, () => sql.execute(release, [tenantAppId]))
}

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

/** The store by the statements of the gateway itself; `on` returns it by those of a request. */
export type JobStores = ReturnType<typeof createJobStore>

export type JobStore = ReturnType<JobStores['on']>

/**
 * Creates the store of the rows of jobs. A row holds all that is known about a job: its state, when it is due, its
 * attempts and its lease. Every function but `failExpired` and `removeFinished` changes rows with one statement, by the
 * clock of the database.
 *
 * The changes that a worker makes to a job it holds reject with BAD_USER_INPUT: NOT_FOUND if the tenant has no such
 * job, CONFLICT if the worker no longer holds it. `cancel` and `retry` return undefined, and change nothing, if the job
 * is in another state.
 */
export function createJobStore(
  database: Pick<Database, 'sql' | 'model' | 'driver'>,
  { backoff, metrics }: JobStoreOptions,
) {
  const { model, driver } = database
  const { list, toRow } = selectColumns(model('Job'))
  const toJob = (values: readonly unknown[]) => toRow(values) as Job
  const columns = list
    .split(', ')
    .map((column) => `job.${column}`)
    .join(', ')
  const statements = createStatements(columns)
  const bulk = createBulkStatements(model)

  function on(sql: Sql) {
    async function row(sent: Statement, { tenantAppId, id }: JobKey, values: readonly Parameter[] = []) {
      const [found] = await sql.of(tenantAppId).query(sent, [tenantAppId, id, ...values])
      return found && toJob(found)
    }

    async function find(key: JobKey): Promise<Job | undefined> {
      return isPossibleId(key.id) ? row(statements.find, key) : undefined
    }

    async function changeHeld(held: HeldJob, change: Statement, values: readonly Parameter[]): Promise<Job> {
      const changed = await row(change, held, [held.leaseToken, ...values])
      if (changed) return changed
      const job = await find(held)
      if (!job) throw jobNotFound()
      if (!canMake('succeed', job.status)) throw rejectedTransition('succeed', job.status)
      throw invalidField('leaseToken', 'CONFLICT', 'is stale: the lease expired, and another worker holds the job')
    }

    async function endAttempt(held: HeldJob, change: Statement, values: readonly Parameter[]): Promise<Job> {
      const job = await changeHeld(held, change, values)
      sql.afterCommit(() => metrics.jobAttempts.inc({ outcome: outcomes[job.status] ?? 'failed' }))
      return job
    }

    async function claim(tenantAppId: string, { jobTypes, limit, leaseSeconds }: ClaimRequest): Promise<Job[]> {
      const parameters = [jobTypes, String(limit), String(leaseSeconds), tenantAppId, String(shareOf(limit, jobTypes))]
      return oldestFirst((await sql.of(tenantAppId).query(statements.claim, parameters)).map(toJob))
    }

    return {
      find,
      async findStatus({ tenantAppId, id }: JobKey): Promise<JobStatus | undefined> {
        const [found] = isPossibleId(id)
          ? await sql.of(tenantAppId).query(statements.findStatus, [tenantAppId, id])
          : []
        return found?.[0] as JobStatus | undefined
      },
      /** Finds those of some jobs that were cancelled, or that wait again because their tenant is suspended. */
      async findStopped(keys: readonly JobKey[]): Promise<(JobKey & { readonly isCancelled: boolean })[]> {
        const ofServers = [...Map.groupBy(keys, ({ tenantAppId }) => sql.nodeOf(tenantAppId)).values()]
        const find = (own: readonly JobKey[]) => {
          const tenants = [...new Set(own.map(({ tenantAppId }) => tenantAppId))]
          return sql.of(tenants[0] ?? '').query(statements.findStopped, [tenants, own.map(({ id }) => id)])
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
      },
      async findByIdempotencyKeys(tenantAppId: string, keys: readonly string[]): Promise<Job[]> {
        return (await sql.query(statements.findByIdempotencyKeys, [tenantAppId, keys])).map(toJob)
      },
      /** Inserts jobs. Returns them without those whose idempotency key a job of the tenant has. */
      async insert(tenantAppId: string, jobs: readonly NewJobRow[]): Promise<Job[]> {
        const arity = arityOf(jobs)
        const given = givenParameters(jobs, insertedValues, arity)
        return (await sql.query(statements.insert[arity], [tenantAppId, ...given])).map(toJob)
      },
      /**
       * Claims due jobs of one tenant, as many of each type as possible, first of the types that are named first.
       * Returns them oldest first.
       */
      claim,
      /**
       * Claims due jobs of all tenants, as many of each type as possible, and those of the tenants first that come
       * after the one that was served last with the type. Returns them in the order of the types and tenants.
       */
      async claimOfAllTenants(request: WorkerClaim): Promise<Job[]> {
        const { lastServed, jobTypes, limit, leaseSeconds } = request
        const share = shareOf(limit, jobTypes)
        if (driver.isDistributed?.()) {
          const due = (await sql.list(statements.listQueues, [jobTypes])).map(([jobType, tenantAppId]) => ({
            jobType: String(jobType),
            tenantAppId: String(tenantAppId),
          }))
          return claimEachTenant(due, request, share, claim, (tenantAppId) => sql.nodeOf(tenantAppId))
        }
        const tenants = jobTypes.map((type) => lastServed.get(type) ?? '')
        const parameters = [jobTypes, String(limit), String(leaseSeconds), tenants, String(share)]
        const claimed = await sql.query(statements.claimOfAllTenants, parameters)
        // The last value is the place in the order.
        const queued = claimed.toSorted((one, other) => Number(one.at(-1)) - Number(other.at(-1)))
        return queued.map((values) => toJob(values.slice(0, -1)))
      },
      extendLease: async (held: HeldJob, leaseSeconds: number) =>
        leaseOf(await changeHeld(held, statements.extendLease, [String(leaseSeconds)])),
      reportProgress: (held: HeldJob, progress: number, message: string | null) =>
        changeHeld(held, statements.reportProgress, [String(progress), message]),
      complete: (held: HeldJob, result: object | null) => endAttempt(held, statements.complete, [toJson(result)]),
      /** Ends an attempt. The job waits for the next one if the failure is retryable and attempts are left. */
      fail: (held: HeldJob, failure: Failure) => endAttempt(held, statements.fail, failureParameters(failure, backoff)),
      cancel: async (key: JobKey) => (isPossibleId(key.id) ? row(statements.cancel, key) : undefined),
      /** Makes a job due now, with the attempts that it has left and at least one. */
      retry: (key: JobKey) => row(statements.retry, key),
      /**
       * Makes a transition of the oldest jobs of a selection, at most `limit`. Jobs that another transaction has locked
       * are left out. Returns how many.
       */
      changeAll(selection: JobSelection, limit: number): Promise<number> {
        const { change, parameters } = bulk.change(selection, limit)
        return sql.execute(change, parameters)
      },
      async countAll(selection: JobSelection): Promise<number> {
        const { count, parameters } = bulk.count(selection)
        const [counted] = await sql.query(count, parameters)
        return Number(counted?.[0])
      },
      /** Fails the attempts whose lease has expired, at most 500 of each tenant. Returns how many. */
      async failExpired(failure: Failure): Promise<number> {
        const failed = await sumOfTenants(sql, await sql.list(statements.listExpired), (tenantAppId, own) =>
          own.execute(statements.failExpired, [tenantAppId, ...failureParameters(failure, backoff)]),
        )
        metrics.jobAttempts.inc({ outcome: 'lease_lost' }, failed)
        return failed
      },
      async count() {
        const texts = driver.isDistributed?.() ? ofServers : ofServer
        const [states, oldest] = await Promise.all([sql.list(texts.countByState), sql.list(texts.oldestDueSeconds)])
        const counts = new Map<string, number>()
        for (const [state, count] of states) {
          const sum = (counts.get(String(state)) ?? 0) + Number(count)
          counts.set(String(state), Math.min(sum, maxCounted))
        }
        return { states: [...counts], oldestDueSeconds: Math.max(0, ...oldest.map(([seconds]) => Number(seconds))) }
      },
      /**
       * Removes jobs that finished more than `days` ago, in small batches. Imported jobs have no finishing time and
       * stay.
       *
       * @returns how many
       */
      removeFinished: (days: number): Promise<number> =>
        removeOlder(sql, { table: 'job', column: 'finished_at', age: `${days} days` }),
    }
  }

  return { ...on(database.sql), on }
}

/** The outcome of an attempt, by the state of the job after it. */
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

interface Queue {
  readonly jobType: string
  readonly tenantAppId: string
}

/**
 * Claims jobs of several tenants whose rows are on several servers: with one statement for each queue. The jobs of each
 * type get their share first, and then those that have more get what is left, as in the statement that claims jobs of
 * all tenants of one server.
 *
 * A server that fails costs only the jobs of its tenants.
 *
 * @param queues those with due jobs
 * @param share of each type
 * @param nodeOf the name of the server that has the rows of a tenant
 * @returns the jobs in the order of the types, and of the tenants after the one that was served last with the type
 */
async function claimEachTenant(
  queues: readonly Queue[],
  { jobTypes, limit, leaseSeconds, lastServed }: WorkerClaim,
  share: number,
  claim: (tenantAppId: string, request: ClaimRequest) => Promise<Job[]>,
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
          : await claim(tenantAppId, { jobTypes: [type], limit: wanted, leaseSeconds }).catch((error: unknown) => {
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
function inTurn(queues: readonly Queue[], type: string, last: string): string[] {
  const tenants = queues.filter(({ jobType }) => jobType === type).map(({ tenantAppId }) => tenantAppId)
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

/** Adds the jobs of all tenants to the metrics of a process. While the database fails, the last numbers stay. */
export function measureJobs(metrics: Metrics, jobs: Pick<JobStore, 'count'>): void {
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
    collect: readBehind(metrics, 'jobs', jobs.count, show),
  })
  // Not 0 before the first reading.
  oldestDue.remove()

  function show({ states, oldestDueSeconds }: Awaited<ReturnType<JobStore['count']>>): void {
    for (const [state, count] of states) byState.set({ state }, count)
    oldestDue.set(oldestDueSeconds)
  }
}
