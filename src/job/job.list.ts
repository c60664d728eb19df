import type { Context } from '../context.ts'
import { type CreatedFilter, createdBetween } from '../db/created-between.ts'
import type { JobStatus } from '../db/generated/prisma/client.ts'
import { type Direction, keysetPage } from '../db/keyset.ts'
import type { Condition } from '../db/list.ts'
import type { PageRequest } from '../db/page.ts'
import { checkFilterTexts } from '../input/rules.ts'

/** Which jobs a list shows. What is absent or null does not restrict it. */
export interface JobFilter extends CreatedFilter {
  readonly status?: JobStatus | null | undefined
  readonly jobType?: string | null | undefined
}

/** Which jobs a list shows, and in which order. */
export interface JobList {
  readonly filter: JobFilter
  readonly direction: Direction
}

/** @throws GatewayError BAD_USER_INPUT when a text is one that no row can have */
export function jobConditions({ status, jobType, ...created }: JobFilter): Condition[] {
  checkFilterTexts({ jobType })
  return [
    ...(status != null ? [{ field: 'status', is: '=' as const, value: status }] : []),
    ...(jobType != null ? [{ field: 'jobType', is: '=' as const, value: jobType }] : []),
    ...createdBetween(created),
  ]
}

/**
 * One page of jobs, with one row more than asked when there are more: one statement.
 *
 * @throws GatewayError BAD_USER_INPUT when a text of the filter is one that no row can have
 */
export async function readJobPage({ loaders }: Context, { filter, direction }: JobList, page: PageRequest) {
  return loaders.jobList.read({ conditions: jobConditions(filter), ...keysetPage(page, direction) })
}

/** How many jobs a filter shows: one statement. */
export async function countJobs({ loaders }: Context, filter: JobFilter): Promise<number> {
  return loaders.jobList.count(jobConditions(filter))
}
