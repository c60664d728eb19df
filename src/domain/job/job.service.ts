import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { Job } from '../../engine/db/generated/prisma/client.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { type Outcome, writeEach, writeOne } from '../../engine/input/write-each.ts'
import { type JobRules, jobType as jobTypeRule } from './job.input.ts'
import { jobIds } from './job.ts'
import { jobNotFound, type NewJobRow } from './store/job-store.ts'
import { canMake, rejectedTransition, type Transition } from './store/transitions.ts'

type NewJob = z.input<JobRules['newJob']>

/**
 * Creates jobs. For an idempotency key that a job of the tenant has, returns that job. An input is rejected with
 * CONFLICT if its key was used with another job type or payload.
 */
export function createJobs(context: Context, inputs: readonly NewJob[]): Promise<Outcome<Job>[]> {
  return writeEach(inputs, {
    parse: (input) => toNewRow(context, input),
    unique: { idempotencyKey: ({ idempotencyKey }) => idempotencyKey },
    write: (rows) => writeJobs(context, rows),
  })
}

export const createJob = writeOne(createJobs)

function toNewRow({ jobs }: Context, input: NewJob): NewJobRow {
  const parsed = parseInput(jobs.rules.newJob, input)
  const { jobType, payload = null, maxAttempts, runAt = null, idempotencyKey = null } = parsed
  return { id: jobIds.create(), jobType, payload, runAt, idempotencyKey, maxAttempts }
}

async function writeJobs(context: Context, rows: readonly NewJobRow[]): Promise<Outcome<Job>[]> {
  const { viewer, jobs } = context
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

/** Finds the jobs with the idempotency keys of rows. Returns a function that returns the job for a row. */
async function findByIdempotencyKeys({ viewer, jobs }: Context, rows: readonly NewJobRow[]) {
  const keys = rows.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])
  const found = keys.length > 0 ? await jobs.findByIdempotencyKeys(viewer.tenantAppId, keys) : []
  const byKey = new Map(found.map((job) => [job.idempotencyKey, job]))
  return ({ idempotencyKey }: NewJobRow) => (idempotencyKey === null ? undefined : byKey.get(idempotencyKey))
}

function isSameJob(job: Job, { jobType, payload }: NewJobRow): boolean {
  // As it is stored: objects in a GraphQL document have no prototype, and JSON has no -0.
  const stored: unknown = JSON.parse(JSON.stringify(payload))
  return job.jobType === jobType && isDeepStrictEqual(job.payload, stored)
}

/**
 * Cancels a job. Its worker notices because the lease has ended.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT if the job is finished
 */
export async function cancelJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer, jobs } = context
  return (await jobs.cancel({ tenantAppId: viewer.tenantAppId, id })) ?? reject(context, id, 'cancel')
}

/**
 * Makes a failed or cancelled job due again, with its remaining attempts, but at least one.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT if the job is in another state or has a type that no
 *   worker can name
 */
export async function retryJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer, jobs } = context
  const key = { tenantAppId: viewer.tenantAppId, id }
  const job = await jobs.find(key)
  if (!job) throw jobNotFound()
  if (!canMake('retry', job.status)) throw rejectedTransition('retry', job.status)
  if (!jobTypeRule.safeParse(job.jobType).success) {
    throw invalidField('id', 'CONFLICT', 'is the id of a job whose type no worker can handle')
  }
  return (await jobs.retry(key)) ?? reject(context, id, 'retry')
}

/** Rejects a transition because of the state that the job has now. */
async function reject({ viewer, jobs }: Context, id: string, transition: Transition): Promise<never> {
  const job = await jobs.find({ tenantAppId: viewer.tenantAppId, id })
  throw job ? rejectedTransition(transition, job.status) : jobNotFound()
}
