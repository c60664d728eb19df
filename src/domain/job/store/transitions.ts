import { type GatewayError, invalidField } from '@fusion-gateway/base'
import type { Job, JobStatus } from '@fusion-gateway/database'

/** How long a failed attempt delays the next one: the delay doubles with each attempt, up to the maximum. */
export interface Backoff {
  readonly delaySeconds: number
  readonly maxDelaySeconds: number
}

/** Why an attempt failed, and whether another attempt can succeed. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly isRetryable: boolean
  /** The job is due again no earlier than after this. At most a day counts. */
  readonly retryAfterSeconds?: number
}

/** A handler passes on what another server says, which can be any number. */
const maxRetryAfterSeconds = 24 * 60 * 60

/** The parameters of a statement that ends a failed attempt: its error, whether there is another attempt, and when. */
export function failureParameters(failure: Failure, { delaySeconds, maxDelaySeconds }: Backoff): readonly string[] {
  const { code, message, isRetryable, retryAfterSeconds = 0 } = failure
  return [
    code,
    message,
    String(isRetryable),
    String(delaySeconds),
    String(maxDelaySeconds),
    String(Math.min(Math.max(retryAfterSeconds, 0) || 0, maxRetryAfterSeconds)),
  ]
}

/** Every change of a job's state. All others are rejected with CONFLICT. */
const transitions = {
  start: { from: ['PENDING'], to: ['RUNNING'] },
  succeed: { from: ['RUNNING'], to: ['SUCCEEDED'] },
  /** Waits for another attempt if one is left; otherwise the job has failed. */
  fail: { from: ['RUNNING'], to: ['PENDING', 'FAILED'] },
  /** Waits again, as before the attempt, because the tenant was suspended. */
  release: { from: ['RUNNING'], to: ['PENDING'] },
  cancel: { from: ['PENDING', 'RUNNING'], to: ['CANCELLED'] },
  retry: { from: ['FAILED', 'CANCELLED'], to: ['PENDING'] },
} as const satisfies Record<string, { readonly from: readonly JobStatus[]; readonly to: readonly JobStatus[] }>

export type Transition = keyof typeof transitions

export function statesBefore(transition: Transition): readonly JobStatus[] {
  return transitions[transition].from
}

export function canMake(transition: Transition, status: JobStatus): boolean {
  return statesBefore(transition).includes(status)
}

export function isFinished(status: JobStatus): boolean {
  return !canMake('cancel', status)
}

/** The rejection of a transition that the job's state does not allow. */
export function rejectedTransition(transition: Transition, status: JobStatus): GatewayError {
  const from = statesBefore(transition).join(' or ')
  return invalidField('id', 'CONFLICT', `is the id of a job that is ${status}; it must be ${from}`)
}

/** A job that a worker holds until the lease expires. */
export interface JobLease {
  readonly job: Job
  /** Proves that the worker holds the job. Each start of the job has its own. */
  readonly leaseToken: string
  readonly expiresAt: Date
}

export function leaseOf(job: Job): JobLease {
  const { leaseToken, leaseExpiresAt } = job
  if (leaseToken === null || leaseExpiresAt === null) throw new Error('A running job has no lease')
  return { job, leaseToken, expiresAt: leaseExpiresAt }
}
