import type { Context } from '../context.ts'
import { type Job, Prisma } from '../db/generated/prisma/client.ts'
import { isPossibleId } from '../db/ids.ts'
import { isConflict } from '../db/violations.ts'
import { type GatewayError, invalidField } from '../errors.ts'
import type { QueuedJob } from './job.queue.ts'
import { type Move, transitions } from './job.states.ts'

/** Where jobs are kept: their rows, and the queue that delivers them. */
export type JobStore = Pick<Context, 'prisma' | 'queue'>

/** Why an attempt of a job failed, as the row keeps it. */
export interface JobFailure {
  readonly code: string
  readonly message: string
  /** Which attempt: 1 for the first. */
  readonly attempt: number
  /** When, RFC 3339. */
  readonly at: string
}

interface JobKey {
  readonly tenantAppId: string
  readonly id: string
}

/** A job, and what must still hold of its lease for a change to count. */
export interface HeldKey extends JobKey {
  readonly leaseToken?: string
  readonly leaseExpiresAt?: Date
}

/** @throws GatewayError BAD_USER_INPUT with NOT_FOUND when the tenant has no such job */
export async function findJob({ prisma }: Pick<JobStore, 'prisma'>, { tenantAppId, id }: JobKey): Promise<Job> {
  const job = isPossibleId(id) ? await prisma.job.findFirst({ where: { tenantAppId, id } }) : null
  if (!job) throw notAJob()
  return job
}

/** The refusal of an id that no job of the tenant has. */
export function notAJob(): GatewayError {
  return invalidField('id', 'NOT_FOUND', 'is not the id of a job')
}

/**
 * Changes a job's state, when it is one from which the move may be made. What belongs to the state it leaves is cleared.
 *
 * @returns the job as it is now; undefined when it was in another state, or its lease another one
 */
export async function moveJob(
  tx: Prisma.TransactionClient,
  key: HeldKey,
  move: Exclude<Move, 'start'>,
  data: Prisma.JobUncheckedUpdateManyInput = {},
): Promise<Job | undefined> {
  const { from, to } = transitions[move]
  const [job] = await tx.job.updateManyAndReturn({
    where: { ...key, status: { in: [...from] } },
    data: {
      ...{ status: to, leaseToken: null, leaseExpiresAt: null },
      ...(to === 'PENDING' ? { startedAt: null, finishedAt: null } : { finishedAt: new Date() }),
      ...data,
    },
  })
  return job
}

const maxTries = 3

/**
 * Runs a change of a job's entry and row: both, or neither. Where another transaction was in the way it is run again, up
 * to three times.
 *
 * @param work gives undefined when row or entry did not move; whatever it has written by then is undone. It is told when
 *   it is run for the last time
 */
export async function inJobTransaction<Result>(
  prisma: JobStore['prisma'],
  work: (tx: Prisma.TransactionClient, isLastTry: boolean) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const unmoved = new Error('The job did not move')
  for (let run = 1; run <= maxTries; run += 1) {
    const isLastTry = run === maxTries
    try {
      return await prisma.$transaction(async (tx) => {
        const result = await work(tx, isLastTry)
        if (result === undefined) throw unmoved
        return result
      })
    } catch (error) {
      if (error !== unmoved && (isLastTry || !isConflict(error))) throw error
    }
  }
  return undefined
}

/** A job as its queue knows it; undefined for one that no queue knows, since it was brought from elsewhere. */
export function queuedJob({ tenantAppId, id, jobType, runAt }: Job): QueuedJob | undefined {
  return jobType !== null && runAt !== null ? { tenantAppId, id, jobType } : undefined
}

/** What to write for a JSON object that may be missing. */
export function jsonOrNull(value: object | null | undefined): Prisma.InputJsonObject | typeof Prisma.DbNull {
  return value == null ? Prisma.DbNull : (value as Prisma.InputJsonObject)
}
