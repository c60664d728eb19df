import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { Job } from '../../engine/db/generated/prisma/client.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { type JobRules, jobType as jobTypeRule } from './job.input.ts'
import { jobIds } from './job.ts'
import { jobNotFound } from './store/job-store.ts'
import { canMake, rejectedTransition, type Transition } from './store/transitions.ts'

type NewJob = z.input<JobRules['newJob']>

const defaultMaxAttempts = 3

/**
 * Creates a job. A second call with the same idempotency key returns the job of the first call.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; CONFLICT if the idempotency key was used with another job
 *   type or payload
 */
export async function createJob(context: Context, input: NewJob): Promise<Job> {
  const { viewer, jobs } = context
  const parsed = parseInput(jobs.rules.newJob, input)
  const { jobType, payload = null, maxAttempts, runAt = null, idempotencyKey = null } = parsed
  const existing = await findByIdempotencyKey(context, input)
  if (existing) return withoutResult(context, existing)
  const created = await jobs.insert({
    tenantAppId: viewer.tenantAppId,
    id: jobIds.create(),
    jobType,
    payload,
    runAt,
    idempotencyKey,
    maxAttempts: maxAttempts ?? defaultMaxAttempts,
  })
  // A concurrent call has inserted a job with the same key.
  const job = created ?? (await findByIdempotencyKey(context, input))
  if (!job) throw new Error('A job was neither inserted nor found by its idempotency key')
  return created ?? withoutResult(context, job)
}

/** A job that was created before. Its outcome is left out unless the viewer may read jobs. */
function withoutResult({ viewer }: Context, job: Job): Job {
  if (viewer.scopes.includes('jobs:read')) return job
  return { ...job, result: null, error: null, progress: null, progressMessage: null }
}

async function findByIdempotencyKey({ viewer, jobs }: Context, input: NewJob): Promise<Job | undefined> {
  const { idempotencyKey, jobType, payload } = input
  if (idempotencyKey == null) return undefined
  const job = await jobs.findByIdempotencyKey(viewer.tenantAppId, idempotencyKey)
  // As it is stored: objects in a GraphQL document have no prototype, and JSON has no -0.
  const stored: unknown = JSON.parse(JSON.stringify(payload ?? null))
  if (job && !(job.jobType === jobType && isDeepStrictEqual(job.payload, stored))) {
    throw invalidField('idempotencyKey', 'CONFLICT', 'was used with another job type or payload')
  }
  return job
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
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT if the job is in another state or has a type that no worker
 *   can name
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
  return (await jobs.retry(key, defaultMaxAttempts)) ?? reject(context, id, 'retry')
}

/** Rejects a transition because of the state that the job has now. */
async function reject({ viewer, jobs }: Context, id: string, transition: Transition): Promise<never> {
  const job = await jobs.find({ tenantAppId: viewer.tenantAppId, id })
  throw job ? rejectedTransition(transition, job.status) : jobNotFound()
}
