import type { Context } from '../context.ts'
import type { Job } from '../db/generated/prisma/client.ts'
import { isPossibleId } from '../db/ids.ts'
import { invalidField } from '../errors.ts'
import { checkFields, type Rule, text } from '../input/rules.ts'
import {
  claimJobs,
  completeJob,
  extendJobLease,
  failJob,
  type JobLease,
  maxCodeLength,
  maxMessageLength,
  reportJobProgress,
} from './job.lease.ts'
import { jobObjectRule, jobTypeRule } from './job.service.ts'
import { notAJob } from './job.store.ts'

// What a worker outside of this process may ask for: as in job.lease.ts, for the viewer's tenant, and checked.

const defaultLimit = 1
const defaultLeaseSeconds = 60
const maxJobTypes = 50

function between(min: number, max: number): Rule<number> {
  return (value) =>
    value >= min && value <= max ? undefined : { code: 'OUT_OF_RANGE', message: `must be from ${min} to ${max}` }
}

const rules = {
  limit: between(1, 100),
  leaseSeconds: between(1, 3_600),
  progress: between(0, 1),
  message: text(maxMessageLength),
  code: text(maxCodeLength),
  result: jobObjectRule,
}

/** A job that is held, as its worker names it. */
export interface Held {
  readonly id: string
  readonly leaseToken: string
}

/** @throws GatewayError BAD_USER_INPUT naming every field that is refused */
export function claim(
  context: Context,
  given: { jobTypes: readonly string[]; limit?: number | null | undefined; leaseSeconds?: number | null | undefined },
): Promise<JobLease[]> {
  const { jobTypes } = given
  checkFields(given, { limit: rules.limit, leaseSeconds: rules.leaseSeconds, jobTypes: jobTypesRule })
  const { tenantAppId } = context.viewer
  const queues = [...new Set(jobTypes)].map((jobType) => ({ tenantAppId, jobType }))
  return claimJobs(context, queues, {
    limit: given.limit ?? defaultLimit,
    leaseSeconds: given.leaseSeconds ?? defaultLeaseSeconds,
  })
}

const jobTypesRule: Rule<readonly string[]> = (jobTypes) => {
  if (jobTypes.length === 0) return { code: 'REQUIRED', message: 'must name a job type' }
  if (jobTypes.length > maxJobTypes) return { code: 'TOO_LONG', message: `must have at most ${maxJobTypes} entries` }
  return jobTypes.map(jobTypeRule).find((refusal) => refusal !== undefined)
}

/** @throws GatewayError BAD_USER_INPUT: a field that is refused, NOT_FOUND, or CONFLICT for a stale token */
export async function extend(
  context: Context,
  given: Held & { leaseSeconds?: number | null | undefined },
): Promise<JobLease> {
  checkFields(given, { leaseSeconds: rules.leaseSeconds })
  return extendJobLease(context, heldBy(context, given), given.leaseSeconds ?? defaultLeaseSeconds)
}

/** @throws GatewayError BAD_USER_INPUT: a field that is refused, NOT_FOUND, or CONFLICT for a stale token */
export async function report(
  context: Context,
  given: Held & { progress: number; message?: string | null | undefined },
): Promise<Job> {
  checkFields(given, { progress: rules.progress, message: rules.message })
  const { progress, message = null } = given
  return reportJobProgress(context, heldBy(context, given), { progress, message })
}

/** @throws GatewayError BAD_USER_INPUT: a field that is refused, NOT_FOUND, or CONFLICT for a stale token */
export async function complete(context: Context, given: Held & { result?: object | null | undefined }): Promise<Job> {
  checkFields(given, { result: rules.result })
  return completeJob(context, heldBy(context, given), given.result ?? null)
}

/** @throws GatewayError BAD_USER_INPUT: a field that is refused, NOT_FOUND, or CONFLICT for a stale token */
export async function fail(
  context: Context,
  given: Held & { code: string; message: string; retryable?: boolean | null | undefined },
): Promise<Job> {
  checkFields(given, { code: rules.code, message: rules.message })
  const { code, message, retryable } = given
  return failJob(context, heldBy(context, given), { code, message, retryable: retryable ?? true })
}

function heldBy({ viewer }: Context, { id, leaseToken }: Held) {
  if (!isPossibleId(id)) throw notAJob()
  // No token is of another form, and PostgreSQL could not even be asked for some.
  if (!/^[0-9a-f-]{36}$/.test(leaseToken)) throw invalidField('leaseToken', 'CONFLICT', 'is not the token of a lease')
  return { tenantAppId: viewer.tenantAppId, id, leaseToken }
}
