import type { Context } from '../context.ts'
import type { JobStatus } from '../db/generated/prisma/client.ts'
import { type Condition, type CreatedFilter, createdBetween, type ListedRow } from '../db/read/list.ts'
import { type Direction, type PageRequest, windowOf } from '../db/read/page.ts'
import { parseInput } from '../input/parse-input.ts'
import { jobFilter } from './job.input.ts'

export type ListedJob = ListedRow<'Job'>

/** Limits a list of jobs. Absent and null do not restrict it. */
export interface JobFilter extends CreatedFilter {
  readonly status?: JobStatus | null | undefined
  readonly jobType?: string | null | undefined
}

export interface JobList {
  readonly filter: JobFilter
  readonly direction: Direction
}

/** @throws GatewayError BAD_USER_INPUT if a text of the filter is one that no row can have */
export function jobConditions({ status, jobType, ...created }: JobFilter): Condition[] {
  parseInput(jobFilter, { jobType }, 'filter')
  return [
    ...(status != null ? [{ field: 'status', is: '=' as const, value: status }] : []),
    ...(jobType != null ? [{ field: 'jobType', is: '=' as const, value: jobType }] : []),
    ...createdBetween(created),
  ]
}

/**
 * Reads a page of jobs with one statement. There is one row more than the page has if there are more.
 *
 * @throws GatewayError BAD_USER_INPUT if a text of the filter is one that no row can have
 */
export async function readJobPage(
  { loaders }: Context,
  { filter, direction }: JobList,
  page: PageRequest,
): Promise<ListedJob[]> {
  return loaders.list('Job', { conditions: jobConditions(filter), ...windowOf(page, direction) })
}

/** Counts the jobs that match a filter, with one statement. */
export async function countJobs({ loaders }: Context, filter: JobFilter): Promise<number> {
  return loaders.count('Job', jobConditions(filter))
}
