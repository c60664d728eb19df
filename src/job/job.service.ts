import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../context.ts'
import type { Job } from '../db/generated/prisma/client.ts'
import { newId } from '../db/ids.ts'
import { invalidField } from '../errors.ts'
import { hasProtoKey, isShallow } from '../input/json-depth.ts'
import { checkFields, matching, type Rule, text } from '../input/rules.ts'
import { type Move, mayMove, refusedMove } from './job.states.ts'
import { findJob, inJobTransaction, jsonOrNull, moveJob, queuedJob } from './job.store.ts'

/** The kind of a job: what its queue is called and which handler works on it. */
export const jobTypeRule = matching(
  64,
  /^[A-Za-z][\w.-]*$/,
  'must be a letter, then letters, digits, underscores, hyphens and periods',
)

/** A JSON object that a job keeps. The body of a request bounds its size. */
export const jobObjectRule: Rule<object> = (value) => {
  if (!isShallow(value)) return { code: 'TOO_LONG', message: 'must be nested at most 64 deep' }
  return hasProtoKey(value) ? { code: 'INVALID_FORMAT', message: 'must have no key __proto__' } : undefined
}

const defaultMaxAttempts = 3

const rules = {
  jobType: jobTypeRule,
  payload: jobObjectRule,
  maxAttempts: ((value) =>
    value >= 1 && value <= 100
      ? undefined
      : { code: 'OUT_OF_RANGE', message: 'must be from 1 to 100' }) as Rule<number>,
  idempotencyKey: text(128),
}

/** A job to make, as the caller gave it. */
export interface NewJob {
  readonly jobType: string
  readonly payload?: object | null | undefined
  /** How many starts it is given: 3 when absent. */
  readonly maxAttempts?: number | null | undefined
  /** Not to start before; at once when absent. */
  readonly runAt?: Date | null | undefined
  /** Makes asking twice make one job. */
  readonly idempotencyKey?: string | null | undefined
}

/**
 * Makes a job and queues it: both, or neither. A second call with an idempotency key answers the first call's job.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused; CONFLICT for an idempotency key that was given
 *   with another job type or payload
 */
export async function createJob(context: Context, given: NewJob): Promise<Job> {
  checkFields(given, rules)
  const { viewer, prisma, queue } = context
  const { tenantAppId } = viewer
  const { jobType, payload, idempotencyKey } = given
  const before = await findByIdempotencyKey(context, given)
  if (before) return before

  const id = newId('Job')
  const now = new Date()
  const runAt = given.runAt && given.runAt > now ? given.runAt : undefined
  const maxAttempts = given.maxAttempts ?? defaultMaxAttempts
  await queue.prepare({ tenantAppId, jobType })
  const made = await prisma.$transaction(async (tx) => {
    const [job] = await tx.job.createManyAndReturn({
      data: {
        ...{ tenantAppId, id, jobType, maxAttempts, payload: jsonOrNull(payload) },
        ...{ idempotencyKey: idempotencyKey ?? null, runAt: runAt ?? now, createdAt: now, updatedAt: now },
      },
      skipDuplicates: true,
    })
    if (job) await queue.send(tx, { tenantAppId, jobType, id }, { runAt, retries: maxAttempts })
    return job
  })
  // Somebody else was first with the same key, in this very moment.
  const job = made ?? (await findByIdempotencyKey(context, given))
  if (!job) throw new Error('A job was neither made nor found by its idempotency key')
  return job
}

async function findByIdempotencyKey({ viewer, prisma }: Context, given: NewJob): Promise<Job | null> {
  const { idempotencyKey, jobType, payload } = given
  if (idempotencyKey == null) return null
  const job = await prisma.job.findFirst({ where: { tenantAppId: viewer.tenantAppId, idempotencyKey } })
  // As it is kept: an object of a GraphQL literal has no prototype, and JSON has no -0.
  const kept: unknown = JSON.parse(JSON.stringify(payload ?? null))
  if (job && !(job.jobType === jobType && isDeepStrictEqual(job.payload, kept))) {
    throw invalidField('idempotencyKey', 'CONFLICT', 'was given with another job type or payload')
  }
  return job
}

/**
 * Calls a job off. Whoever works on it is told by its lease, which is gone.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT for a job that is finished
 */
export async function cancelJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer, prisma, queue } = context
  const { tenantAppId } = viewer
  const job = await findJob(context, { tenantAppId, id })
  if (!mayMove('cancel', job.status)) throw refusedMove('cancel', job.status)
  const queued = queuedJob(job)
  if (queued) await queue.prepare(queued)
  const cancelled = await inJobTransaction(prisma, async (tx, isLastTry) => {
    // An entry that is really not there must not keep a job from being called off.
    if (queued && !(await queue.remove(tx, queued)) && !isLastTry) return undefined
    return moveJob(tx, { tenantAppId, id }, 'cancel')
  })
  return cancelled ?? refuseAsItIs(context, id, 'cancel')
}

/**
 * Puts a job that failed or was called off back to be worked on: with the attempts it has left, and one at least.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT for a job in another state, or of a type that no queue has
 */
export async function retryJob(context: Context, { id }: { id: string }): Promise<Job> {
  const { viewer, prisma, queue } = context
  const { tenantAppId } = viewer
  const { status, jobType, attempts, maxAttempts: before } = await findJob(context, { tenantAppId, id })
  if (!mayMove('retry', status)) throw refusedMove('retry', status)
  if (jobType === null || jobTypeRule(jobType)) {
    throw invalidField('id', 'CONFLICT', 'is of a job whose type nobody can work on')
  }
  const maxAttempts = Math.max(before ?? defaultMaxAttempts, attempts + 1)
  await queue.prepare({ tenantAppId, jobType })
  const change = { maxAttempts, runAt: new Date(), progress: null, progressMessage: null }
  const pending = await inJobTransaction(prisma, async (tx) => {
    if (!(await queue.send(tx, { tenantAppId, jobType, id }, { retries: maxAttempts }))) return undefined
    return moveJob(tx, { tenantAppId, id }, 'retry', change)
  })
  return pending ?? refuseAsItIs(context, id, 'retry')
}

/** Somebody else changed the job in this very moment: the refusal says what it is now. */
async function refuseAsItIs(context: Context, id: string, move: Move): Promise<never> {
  const { status } = await findJob(context, { tenantAppId: context.viewer.tenantAppId, id })
  throw refusedMove(move, status)
}
