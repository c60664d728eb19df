import type { Job } from '../../../engine/db/generated/prisma/client.ts'
import { type GatewayError, invalidField } from '../../../engine/errors.ts'
import { type Failure, type HeldJob, type JobStore, jobNotFound } from './job-store.ts'
import { canMake, rejectedTransition } from './transitions.ts'

/** A job that a worker holds until the lease expires. */
export interface JobLease {
  readonly job: Job
  /** Proves that the worker holds the job. Each start of the job has its own. */
  readonly leaseToken: string
  readonly expiresAt: Date
}

/** The lease of a job that is running. */
export function leaseOf(job: Job): JobLease {
  const { leaseToken, leaseExpiresAt } = job
  if (leaseToken === null || leaseExpiresAt === null) throw new Error('A running job has no lease')
  return { job, leaseToken, expiresAt: leaseExpiresAt }
}

// The changes that a worker makes to a job it holds. Each throws BAD_USER_INPUT with NOT_FOUND if the tenant has no such
// job, and with CONFLICT if the worker no longer holds it.

/** Extends a lease, from now. */
export async function extendLease(jobs: JobStore, held: HeldJob, leaseSeconds: number): Promise<JobLease> {
  return leaseOf(await requireHeld(jobs, held, jobs.extendLease(held, leaseSeconds)))
}

/** Stores the progress of the work. */
export function reportProgress(jobs: JobStore, held: HeldJob, progress: number, message: string | null): Promise<Job> {
  return requireHeld(jobs, held, jobs.reportProgress(held, progress, message))
}

/** Ends a job with its result. */
export function completeJob(jobs: JobStore, held: HeldJob, result: object | null): Promise<Job> {
  return requireHeld(jobs, held, jobs.complete(held, result))
}

/** Ends an attempt. The job waits for the next one if the failure is retryable and attempts are left. */
export function failJob(jobs: JobStore, held: HeldJob, failure: Failure): Promise<Job> {
  return requireHeld(jobs, held, jobs.fail(held, failure))
}

async function requireHeld(jobs: JobStore, held: HeldJob, change: Promise<Job | undefined>): Promise<Job> {
  return (await change) ?? rejectChange(jobs, held)
}

async function rejectChange(jobs: JobStore, held: HeldJob): Promise<never> {
  const job = await jobs.find(held)
  if (!job) throw jobNotFound()
  throw canMake('succeed', job.status) ? staleToken() : rejectedTransition('succeed', job.status)
}

function staleToken(): GatewayError {
  return invalidField('leaseToken', 'CONFLICT', 'is stale: the lease expired, and another worker holds the job')
}
