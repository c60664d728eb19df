import type { Job } from '../../../engine/db/generated/prisma/client.ts'

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
