import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '@fusion-gateway/base'
import type { Job, JobStatus } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { type Outcome, parseInput, writeEach, writeOne } from '@fusion-gateway/input'
import { byTime, type PageRequest, type SelectedRow, windowOf } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { type LiveValues, liveValues } from '../event/live.ts'
import { maxEvents } from '../event/new-events.ts'
import {
  bulkInput,
  claimInput,
  extendInput,
  failureInput,
  type HeldJobInput,
  jobType as jobTypeRule,
  maxClaims,
  newJob,
  progressInput,
  resultInput,
} from './job.input.ts'
import { jobIds } from './job.ts'
import { type HeldJob, jobNotFound, type NewJobRow } from './store/job-store.ts'
import type { BulkTransition } from './store/statements.ts'
import {
  canMake,
  isFinished,
  type JobLease,
  leaseOf,
  rejectedTransition,
  statesBefore,
  type Transition,
} from './store/transitions.ts'

// The API of workers outside of this process: the operations of store/job-store.ts, for the viewer's tenant, with
// validation. Each throws BAD_USER_INPUT naming every invalid field, with NOT_FOUND for a missing job and CONFLICT for
// a stale token.

const jobsOf = ({ jobs, sql }: Context) => jobs.on(sql)

/**
 * How many jobs the fields of an operation have requested. Their payloads are in one response. A statement that
 * conflicts with another transaction runs again, so only one that has claimed counts.
 */
const claimed = new WeakMap<Context, number>()

export async function claim(context: Context, input: z.input<typeof claimInput>): Promise<JobLease[]> {
  const { viewer } = context
  const jobs = jobsOf(context)
  const { jobTypes, limit, leaseSeconds } = parseInput(claimInput, input)
  const before = claimed.get(context) ?? 0
  if (before + limit > maxClaims) {
    throw invalidField('limit', 'OUT_OF_RANGE', `must add up to at most ${maxClaims} in an operation`)
  }
  const leased = await jobs.claim(viewer.tenantAppId, {
    jobTypes: inRandomOrder(new Set(jobTypes)),
    limit,
    leaseSeconds,
  })
  claimed.set(context, before + limit)
  return leased.map(leaseOf)
}

/** So that no type is always the first. A request does not know which types earlier ones were served with. */
function inRandomOrder(jobTypes: Iterable<string>): string[] {
  const drawn = [...jobTypes].map((type) => ({ type, draw: Math.random() }))
  return drawn.sort((one, other) => one.draw - other.draw).map(({ type }) => type)
}

export async function extend(context: Context, input: HeldJobInput & z.input<typeof extendInput>): Promise<JobLease> {
  const { leaseSeconds } = parseInput(extendInput, input)
  return jobsOf(context).extendLease(heldBy(context, input), leaseSeconds)
}

export async function report(context: Context, input: HeldJobInput & z.input<typeof progressInput>): Promise<Job> {
  const { progress, message = null } = parseInput(progressInput, input)
  return jobsOf(context).reportProgress(heldBy(context, input), progress, message)
}

export async function complete(context: Context, input: HeldJobInput & z.input<typeof resultInput>): Promise<Job> {
  const { result = null } = parseInput(resultInput, input)
  return jobsOf(context).complete(heldBy(context, input), result)
}

export async function fail(context: Context, input: HeldJobInput & z.input<typeof failureInput>): Promise<Job> {
  const { code, message, retryable } = parseInput(failureInput, input)
  return jobsOf(context).fail(heldBy(context, input), { code, message, isRetryable: retryable })
}

function heldBy({ viewer }: Context, { id, leaseToken }: HeldJobInput): HeldJob {
  if (!isPossibleId(id)) throw jobNotFound()
  // PostgreSQL would reject some other texts.
  if (!/^[0-9a-f-]{36}$/.test(leaseToken)) throw invalidField('leaseToken', 'CONFLICT', 'is not the token of a lease')
  return { tenantAppId: viewer.tenantAppId, id, leaseToken }
}

type NewJob = z.input<typeof newJob>

/**
 * Creates jobs. For an idempotency key that a job of the tenant has, returns that job. An input is rejected with
 * CONFLICT if its key was used with another job type or payload.
 */
export function createJobs(context: Context, inputs: readonly NewJob[]): Promise<Outcome<Job>[]> {
  return writeEach(inputs, {
    parse: toNewRow,
    unique: { idempotencyKey: ({ idempotencyKey }) => idempotencyKey },
    write: (rows) => writeJobs(context, rows),
  })
}

export const createJob = writeOne(createJobs)

function toNewRow(input: NewJob): NewJobRow {
  const parsed = parseInput(newJob, input)
  const { jobType, payload = null, maxAttempts, runAt = null, idempotencyKey = null } = parsed
  return { id: jobIds.create(), jobType, payload, runAt, idempotencyKey, maxAttempts }
}

async function writeJobs(context: Context, rows: readonly NewJobRow[]): Promise<Outcome<Job>[]> {
  const { viewer } = context
  const jobs = jobsOf(context)
  const existing = await findByIdempotencyKeys(context, rows)
  const added = rows.filter((row) => !existing(row))
  const created = added.length > 0 ? await jobs.insert(viewer.tenantAppId, added) : []
  const byId = new Map(created.map((job) => [job.id, job]))
  // Concurrent calls have inserted jobs with the same keys.
  const concurrent = await findByIdempotencyKeys(
    context,
    added.filter(({ id }) => !byId.has(id)),
  )
  return rows.map((row) => {
    const job = existing(row) ?? concurrent(row)
    if (job && !isSameJob(job, row)) {
      return invalidField('idempotencyKey', 'CONFLICT', 'was used with another job type or payload')
    }
    const result = job ? withoutResult(context, job) : byId.get(row.id)
    if (!result) throw new Error('A job was neither inserted nor found by its idempotency key')
    return result
  })
}

/** A job that was created before. Its outcome is left out unless the viewer may read jobs. */
function withoutResult({ viewer }: Context, job: Job): Job {
  if (viewer.scopes.includes('jobs:read')) return job
  return { ...job, result: null, error: null, progress: null, progressMessage: null }
}

async function findByIdempotencyKeys(context: Context, rows: readonly NewJobRow[]) {
  const { viewer } = context
  const keys = rows.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])
  const found = keys.length > 0 ? await jobsOf(context).findByIdempotencyKeys(viewer.tenantAppId, keys) : []
  const byKey = new Map(found.map((job) => [job.idempotencyKey, job]))
  return ({ idempotencyKey }: NewJobRow) => (idempotencyKey === null ? undefined : byKey.get(idempotencyKey))
}

function isSameJob(job: Job, { jobType, payload }: NewJobRow): boolean {
  // As it is stored: objects in a GraphQL document have no prototype, and JSON has no -0.
  const stored: unknown = JSON.parse(JSON.stringify(payload))
  return job.jobType === jobType && isDeepStrictEqual(job.payload, stored)
}

/** @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT if the job is finished */
export async function cancelJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer } = context
  const jobs = jobsOf(context)
  return (await jobs.cancel({ tenantAppId: viewer.tenantAppId, id })) ?? reject(context, id, 'cancel')
}

/**
 * Makes a failed or cancelled job due again, with its remaining attempts, but at least one.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT if the job is in another state or has a type that no
 *   worker can name
 */
export async function retryJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer } = context
  const jobs = jobsOf(context)
  const key = { tenantAppId: viewer.tenantAppId, id }
  const job = await jobs.find(key)
  if (!job) throw jobNotFound()
  if (!canMake('retry', job.status)) throw rejectedTransition('retry', job.status)
  if (!jobTypeRule.safeParse(job.jobType).success) {
    throw invalidField('id', 'CONFLICT', 'is the id of a job whose type no worker can handle')
  }
  return (await jobs.retry(key)) ?? reject(context, id, 'retry')
}

async function reject(context: Context, id: string, transition: Transition): Promise<never> {
  const job = await jobsOf(context).find({ tenantAppId: context.viewer.tenantAppId, id })
  throw job ? rejectedTransition(transition, job.status) : jobNotFound()
}

interface BulkInput {
  /** All states in which the transition is possible if absent or null. */
  readonly status: JobStatus | null | undefined
  readonly statuses: readonly JobStatus[] | null | undefined
  /** The jobs to change, as Prisma Client takes it. */
  readonly where: object
  /** The most jobs to change: 1 to 1,000. 1,000 if absent or null. */
  readonly limit: number | null | undefined
}

export interface BulkResult {
  readonly changedCount: number
  readonly countRemaining: () => Promise<number>
}

/**
 * Cancels or retries the oldest jobs of the viewer's tenant that match, with one statement.
 *
 * @throws GatewayError BAD_USER_INPUT naming the limit, or the state if no job can make the transition in it
 */
export async function changeJobs(
  context: Context,
  transition: BulkTransition,
  { status, statuses, where, ...input }: BulkInput,
): Promise<BulkResult> {
  const { viewer } = context
  const jobs = jobsOf(context)
  const { limit } = parseInput(bulkInput, input)
  const possible = statesBefore(transition)
  for (const [field, named] of Object.entries({ status: [status ?? []].flat(), statuses: statuses ?? [] })) {
    if (named.some((state) => !canMake(transition, state))) {
      throw invalidField(`filter.${field}`, 'OUT_OF_RANGE', `must be ${possible.join(' or ')}`)
    }
  }
  const states = possible.filter(
    (state) => (status == null || state === status) && (statuses == null || statuses.includes(state)),
  )
  const selection = { tenantAppId: viewer.tenantAppId, transition, states, where }
  const changedCount = await jobs.changeAll(selection, limit)
  return { changedCount, countRemaining: () => jobs.countAll(selection) }
}

/** Whether a job is finished. A job that the tenant does not have is not. */
export async function isJobFinished(context: Context, id: string): Promise<boolean> {
  const status = await jobsOf(context).findStatus({ tenantAppId: context.viewer.tenantAppId, id })
  return status !== undefined && isFinished(status)
}

interface FollowedJobs {
  /** The states of the filter. Undefined: all. */
  readonly states: readonly JobStatus[] | undefined
  /** The jobs of the first value, as Prisma Client takes it. */
  readonly ofNewest: object
  /** The same without the conditions on the state. */
  readonly where: object
  /** The jobs of the first value, newest first. */
  readonly page: PageRequest
}

/**
 * Follows the tenant's jobs that match a filter: first the newest ones, then those that change. A job that no longer
 * has the state of the filter is included once more.
 */
export async function followJobs(
  { viewer, loaders, events }: Context,
  { states, ofNewest, where, page }: FollowedJobs,
): Promise<LiveValues<SelectedRow<'Job'>[]>> {
  const follower = await events.follow(viewer)

  async function read(ids: readonly string[]): Promise<SelectedRow<'Job'>[]> {
    const jobs = await loaders.list('Job', {
      where: { AND: [where, { id: { in: [...ids] } }] },
      order: byTime('updatedAt', 'ASC'),
      direction: 'ASC',
      limit: maxEvents,
    })
    return [...jobs]
  }

  return liveValues(follower, {
    first: async () => (await loaders.list('Job', { where: ofNewest, ...windowOf(page) })).slice(0, page.size),
    async after(written) {
      const changed = written.filter(
        (event) =>
          event.type.startsWith('JOB_') &&
          (!states || states.some((state) => event.status === state || event.statusBefore === state)),
      )
      const jobs = changed.length > 0 ? await read([...new Set(changed.map(({ resourceId }) => resourceId))]) : []
      return jobs.length > 0 ? [jobs] : []
    },
  })
}
