import { type Job, Prisma } from '../db/generated/prisma/client.ts'
import { type GatewayError, invalidField } from '../errors.ts'
import type { QueuedJob, QueueName } from './job.queue.ts'
import { mayMove, refusedMove, transitions } from './job.states.ts'
import {
  findJob,
  type HeldKey,
  inJobTransaction,
  type JobFailure,
  type JobStore,
  jsonOrNull,
  moveJob,
  queuedJob,
} from './job.store.ts'

/** A job that somebody works on, for as long as the lease lasts. */
export interface JobLease {
  readonly job: Job
  /** What shows that the job is held: another one with every start. */
  readonly leaseToken: string
  readonly expiresAt: Date
}

/** A job that is held, as whoever holds it names it. */
export interface HeldJob {
  readonly tenantAppId: string
  readonly id: string
  readonly leaseToken: string
}

/**
 * Takes jobs that are due and starts them: each is given to one caller alone, and counts one attempt more. The queues
 * are asked in the order given, until there are enough.
 *
 * @param leaseSeconds after so long without a sign of life the job goes to somebody else
 */
export async function claimJobs(
  { prisma, queue }: JobStore,
  queues: readonly QueueName[],
  { limit, leaseSeconds }: { readonly limit: number; readonly leaseSeconds: number },
): Promise<JobLease[]> {
  const known = await queue.existing(queues)
  if (known.length === 0) return []
  return prisma.$transaction(async (tx) => {
    const leases: JobLease[] = []
    for (const name of known) {
      if (leases.length >= limit) break
      const ids = await queue.take(tx, name, limit - leases.length)
      if (ids.length > 0) leases.push(...(await startJobs(tx, name.tenantAppId, ids, leaseSeconds)))
    }
    return leases
  })
}

/** By the database's clock, since the clocks of those who work may differ. */
async function startJobs(
  tx: Prisma.TransactionClient,
  tenantAppId: string,
  ids: readonly string[],
  leaseSeconds: number,
): Promise<JobLease[]> {
  const { from, to } = transitions.start
  const started = await tx.$queryRaw<{ id: string }[]>`
    UPDATE job SET
      status = ${to}::job_status, attempts = attempts + 1, started_at = now(), updated_at = now(),
      progress = NULL, progress_message = NULL,
      lease_token = gen_random_uuid()::text, lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    WHERE tenant_app_id = ${tenantAppId} AND id = ANY(${ids}) AND status::text = ANY(${[...from]})
    RETURNING id`
  const jobs = await tx.job.findMany({
    where: { tenantAppId, id: { in: started.map(({ id }) => id) } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  })
  return jobs.map(leaseOf)
}

/**
 * Keeps a job for longer.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT when the job is no longer held under the token
 */
export async function extendJobLease(store: JobStore, held: HeldJob, leaseSeconds: number): Promise<JobLease> {
  await store.prisma.$executeRaw`
    UPDATE job SET lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    WHERE tenant_app_id = ${held.tenantAppId} AND id = ${held.id} AND lease_token = ${held.leaseToken}`
  return leaseOf(await findHeldJob(store, held))
}

/**
 * Notes how far the work has come.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT when the job is no longer held under the token
 */
export async function reportJobProgress(
  store: JobStore,
  held: HeldJob,
  { progress, message }: { readonly progress: number; readonly message: string | null },
): Promise<Job> {
  const [job] = await store.prisma.job.updateManyAndReturn({
    where: { ...held },
    data: { progress, progressMessage: message },
  })
  return job ?? findHeldJob(store, held)
}

/**
 * Ends a job with its result.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT when the job is no longer held under the token
 */
export async function completeJob(store: JobStore, held: HeldJob, result: object | null): Promise<Job> {
  const { queue } = store
  const queued = queuedJob(await findHeldJob(store, held))
  if (queued) await queue.prepare(queued)
  const done = await inJobTransaction(store.prisma, async (tx, isLastTry) => {
    if (queued && !(await queue.remove(tx, queued)) && !isLastTry) return undefined
    return moveJob(tx, held, 'succeed', { result: jsonOrNull(result), error: Prisma.DbNull })
  })
  return done ?? findHeldJob(store, held)
}

/** How many characters the code and the message of a failure may have. */
export const maxCodeLength = 64
export const maxMessageLength = 2_000

/** Why an attempt failed, and whether another one makes sense. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

/**
 * Ends an attempt that failed. The job waits for the next one, when that makes sense and attempts are left; otherwise
 * it is given up.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT when the job is no longer held under the token
 */
export async function failJob(store: JobStore, held: HeldJob, failure: Failure): Promise<Job> {
  const job = await findHeldJob(store, held)
  return (await endAttempt(store, job, held, failure)) ?? findHeldJob(store, held)
}

/** @returns undefined when the job is no longer held under the token; nothing has changed then */
export async function endAttempt(
  { prisma, queue }: JobStore,
  job: Job,
  held: HeldKey,
  { code, message, retryable }: Failure,
): Promise<Job | undefined> {
  const error: JobFailure = { code, message, attempt: job.attempts, at: new Date().toISOString() }
  const queued = queuedJob(job)
  const isLast = !retryable || job.attempts >= (job.maxAttempts ?? 0)
  if (queued) await queue.prepare(queued)
  /** For a job whose entry is gone, which should not be: it must not run for ever. */
  async function sendAnew(tx: Prisma.TransactionClient, lost: QueuedJob): Promise<Date | undefined> {
    return (await queue.send(tx, lost, { retries: job.maxAttempts ?? 0 })) ? new Date() : undefined
  }

  return inJobTransaction(prisma, async (tx, isLastTry) => {
    if (queued && !isLast) {
      const runAt = (await queue.putBack(tx, queued)) ?? (isLastTry ? await sendAnew(tx, queued) : undefined)
      return runAt && moveJob(tx, held, 'tryAgain', { error: { ...error }, runAt })
    }
    if (queued && !(await queue.remove(tx, queued)) && !isLastTry) return undefined
    return moveJob(tx, held, 'giveUp', { error: { ...error } })
  })
}

/** @throws GatewayError BAD_USER_INPUT: NOT_FOUND, or CONFLICT when the job is not held under the token */
async function findHeldJob(store: JobStore, held: HeldJob): Promise<Job> {
  const job = await findJob(store, held)
  if (!mayMove('succeed', job.status)) throw refusedMove('succeed', job.status)
  if (job.leaseToken !== held.leaseToken) throw staleToken()
  return job
}

function staleToken(): GatewayError {
  return invalidField('leaseToken', 'CONFLICT', 'is stale: the lease was lost, and the job is held under another')
}

function leaseOf(job: Job): JobLease {
  const { leaseToken, leaseExpiresAt } = job
  if (leaseToken === null || leaseExpiresAt === null) throw new Error('A job that runs is held by nobody')
  return { job, leaseToken, expiresAt: leaseExpiresAt }
}
