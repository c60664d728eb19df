import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { Job } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import {
  claimInput,
  extendInput,
  failureInput,
  type HeldJobInput,
  type JobRules,
  maxClaims,
  progressInput,
} from './job.input.ts'
import { type HeldJob, jobNotFound } from './store/job-store.ts'
import { type JobLease, leaseOf } from './store/lease.ts'

// The API of workers outside of this process: the operations of store/job-store.ts, for the viewer's tenant, with
// validation. Each throws BAD_USER_INPUT naming every invalid field, with NOT_FOUND for a missing job and CONFLICT for
// a stale token.

/**
 * How many jobs the fields of an operation have requested. Their payloads are in one response. A statement that
 * conflicts with another transaction runs again, so only one that has claimed counts.
 */
const claimed = new WeakMap<Context, number>()

export async function claim(context: Context, input: z.input<typeof claimInput>): Promise<JobLease[]> {
  const { viewer, jobs } = context
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
  return context.jobs.extendLease(heldBy(context, input), leaseSeconds)
}

export async function report(context: Context, input: HeldJobInput & z.input<typeof progressInput>): Promise<Job> {
  const { progress, message = null } = parseInput(progressInput, input)
  return context.jobs.reportProgress(heldBy(context, input), progress, message)
}

export async function complete(context: Context, input: HeldJobInput & z.input<JobRules['resultInput']>): Promise<Job> {
  const { jobs } = context
  const { result = null } = parseInput(jobs.rules.resultInput, input)
  return jobs.complete(heldBy(context, input), result)
}

export async function fail(context: Context, input: HeldJobInput & z.input<typeof failureInput>): Promise<Job> {
  const { code, message, retryable } = parseInput(failureInput, input)
  return context.jobs.fail(heldBy(context, input), { code, message, isRetryable: retryable })
}

function heldBy({ viewer }: Context, { id, leaseToken }: HeldJobInput): HeldJob {
  if (!isPossibleId(id)) throw jobNotFound()
  // PostgreSQL would reject some other texts.
  if (!/^[0-9a-f-]{36}$/.test(leaseToken)) throw invalidField('leaseToken', 'CONFLICT', 'is not the token of a lease')
  return { tenantAppId: viewer.tenantAppId, id, leaseToken }
}
