import type { Context } from '../../engine/context.ts'
import type { JobStatus } from '../../engine/db/generated/prisma/client.ts'
import { type Condition, equal } from '../../engine/db/read/list.ts'
import { byTime } from '../../engine/db/read/order.ts'
import { type PageRequest, windowOf } from '../../engine/db/read/page.ts'
import type { SelectedRow } from '../../engine/db/read/relation.ts'
import { type LiveValues, liveValues } from '../event/live.ts'
import { maxEvents } from '../event/new-events.ts'
import { isFinished } from './store/transitions.ts'

/**
 * Follows a job until it is finished: a value for each change, or for several at once. If the tenant has no job with
 * this id, or no longer has it, the last value is null. The values have no more than the id, because the job may have
 * hundreds of KiB of JSON.
 */
export async function followJob(
  { viewer, jobs, events }: Context,
  { id }: { readonly id: string },
): Promise<LiveValues<SelectedRow<'Job'> | null>> {
  const { tenantAppId } = viewer
  let isOver = false
  async function read(): Promise<SelectedRow<'Job'> | null> {
    const status = await jobs.findStatus({ tenantAppId, id })
    isOver = status === undefined || isFinished(status)
    return status === undefined ? null : { id }
  }
  const follower = await events.follow(viewer)
  return liveValues(follower, {
    first: read,
    after: async (written) => (written.some(({ resourceId }) => resourceId === id) ? [await read()] : []),
    isOver: () => isOver,
  })
}

export interface JobSelection {
  readonly status: JobStatus | null | undefined
  /** The conditions on fields of a job that never change. */
  readonly conditions: readonly Condition[]
  /** The jobs of the first value, newest first. */
  readonly page: PageRequest
}

/**
 * Follows the tenant's jobs that match a filter: first the newest ones, then those that change. A job that no longer
 * has the state of the filter is included once more.
 */
export async function followJobs(
  { viewer, loaders, events }: Context,
  { status, conditions, page }: JobSelection,
): Promise<LiveValues<SelectedRow<'Job'>[]>> {
  const follower = await events.follow(viewer)
  const ofNewest = status == null ? conditions : [...conditions, equal('status')(status)]

  /** Reads jobs, in the order of their last changes. */
  async function read(ids: readonly string[]): Promise<SelectedRow<'Job'>[]> {
    const jobs = await loaders.list('Job', {
      conditions: [...conditions, { field: 'id', is: 'in', value: ids }],
      order: byTime('updatedAt', 'ASC'),
      direction: 'ASC',
      limit: maxEvents,
    })
    return [...jobs]
  }

  return liveValues(follower, {
    first: async () => (await loaders.list('Job', { conditions: ofNewest, ...windowOf(page) })).slice(0, page.size),
    async after(written) {
      const changed = written.filter(
        (event) =>
          event.type.startsWith('JOB_') && (status == null || event.status === status || event.statusBefore === status),
      )
      const jobs = changed.length > 0 ? await read([...new Set(changed.map(({ resourceId }) => resourceId))]) : []
      return jobs.length > 0 ? [jobs] : []
    },
  })
}
