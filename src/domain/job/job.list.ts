import type { Context } from '../../engine/context.ts'
import type { JobStatus } from '../../engine/db/generated/prisma/client.ts'
import { type Condition, equal, type ListedRow, type TimeFilter, timesWithin } from '../../engine/db/read/list.ts'
import { type PageRequest, windowOf } from '../../engine/db/read/page.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { jobFilter } from './job.input.ts'

export type ListedJob = ListedRow<'Job'>

/** Limits a list of jobs. Absent and null do not restrict it. */
export interface JobFilter extends TimeFilter {
  readonly status?: JobStatus | null | undefined
  readonly jobType?: string | null | undefined
}

/** @throws GatewayError BAD_USER_INPUT if a text of the filter is one that no row can have */
export function jobConditions({ status, jobType, ...times }: JobFilter): Condition[] {
  parseInput(jobFilter, { jobType }, 'filter')
  return [...equal('status', status), ...equal('jobType', jobType), ...timesWithin(times)]
}

/**
 * Reads a page of jobs with one statement. There is one row more than the page has if there are more.
 *
 * @throws GatewayError BAD_USER_INPUT if a text of the filter is one that no row can have
 */
export async function readJobPage({ loaders }: Context, filter: JobFilter, page: PageRequest): Promise<ListedJob[]> {
  return loaders.list('Job', { conditions: jobConditions(filter), ...windowOf(page) })
}
