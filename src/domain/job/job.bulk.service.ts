import type { Context } from '../../engine/context.ts'
import type { JobStatus } from '../../engine/db/generated/prisma/enums.ts'
import type { Condition } from '../../engine/db/read/list.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { bulkInput } from './job.input.ts'
import type { BulkTransition } from './store/bulk-texts.ts'
import { canMake, statesBefore } from './store/transitions.ts'

interface BulkInput {
  /** All states in which the transition is possible if absent or null. */
  readonly status: JobStatus | null | undefined
  /** Conditions on the other fields of a job. */
  readonly conditions: readonly Condition[]
  /** The most jobs to change: 1 to 1,000. 1,000 if absent or null. */
  readonly limit: number | null | undefined
}

/** What a bulk action has done. */
export interface BulkResult {
  readonly changedCount: number
  /** Counts the jobs that still match. */
  readonly countRemaining: () => Promise<number>
}

/**
 * Cancels or retries the oldest jobs of the viewer's tenant that match, with one statement.
 *
 * @throws GatewayError BAD_USER_INPUT naming the limit, or the state if no job can make the transition in it
 */
export async function changeJobs(
  { viewer, jobs }: Context,
  transition: BulkTransition,
  { status, conditions, ...input }: BulkInput,
): Promise<BulkResult> {
  const { limit } = parseInput(bulkInput, input)
  const possible = statesBefore(transition)
  if (status != null && !canMake(transition, status)) {
    throw invalidField('filter.status', 'OUT_OF_RANGE', `must be ${possible.join(' or ')}`)
  }
  const states = status == null ? possible : [status]
  const selection = { tenantAppId: viewer.tenantAppId, transition, states, conditions }
  const changedCount = await jobs.changeAll(selection, limit)
  return { changedCount, countRemaining: () => jobs.countAll(selection) }
}
