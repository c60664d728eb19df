import type { Context } from '../context.ts'
import { type CreatedFilter, createdBetween } from '../db/created-between.ts'
import type { Job, JobStatus, Prisma } from '../db/generated/prisma/client.ts'
import { type Direction, keysetPage } from '../db/keyset.ts'
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

/**
 * The tenant's jobs of a filter, as Prisma asks for them. Nothing reads jobs in a list without it.
 *
 * @throws GatewayError BAD_USER_INPUT when a text is one that no row can have
 */
export function jobsWhere({ viewer }: Context, filter: JobFilter): Prisma.JobWhereInput {
  const { status, jobType } = filter
  checkFilterTexts({ jobType })
  return {
    tenantAppId: viewer.tenantAppId,
    ...(status != null && { status }),
    ...(jobType != null && { jobType }),
    createdAt: createdBetween(filter),
  }
}

/** One page of jobs, with one row more than asked when there are more: one statement. */
export function readJobPage(context: Context, { filter, direction }: JobList, page: PageRequest): Promise<Job[]> {
  const { bounds, orderBy, take } = keysetPage(page, direction)
  return context.prisma.job.findMany({ where: { AND: [jobsWhere(context, filter), ...bounds] }, orderBy, take })
}
