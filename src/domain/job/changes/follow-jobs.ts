import type { Context } from '../../../engine/context.ts'
import type { Job, JobStatus } from '../../../engine/db/generated/prisma/client.ts'
import { type Condition, equal } from '../../../engine/db/read/list.ts'
import { byTime } from '../../../engine/db/read/order.ts'
import { type PageRequest, windowOf } from '../../../engine/db/read/page.ts'
import type { SelectedRow } from '../../../engine/db/read/relation.ts'
import { isFinished } from '../store/transitions.ts'
import { type Follower, maxChanges } from './job-changes.ts'

/** Values over time: the current one first, then one after each change. `return` ends it at once. */
export interface LiveValues<Value> extends AsyncIterator<Value, undefined> {
  return(): Promise<IteratorResult<Value, undefined>>
  [Symbol.asyncIterator](): LiveValues<Value>
}

/**
 * Follows a job until it is finished. Several changes at once become one value. If the tenant has no job with this id, or no
 * longer has it, the last value is null.
 */
export async function followJob(context: Context, { id }: { readonly id: string }): Promise<LiveValues<Job | null>> {
  const { viewer, jobs, changes } = context
  const { tenantAppId } = viewer
  let isOver = false
  async function read(): Promise<Job | null> {
    const job = (await jobs.find({ tenantAppId, id })) ?? null
    isOver = job === null || isFinished(job.status)
    return job
  }
  const follower = await changes.follow((change) => change.tenantAppId === tenantAppId && change.id === id)
  return liveValues(follower, { readPresent: read, readChanged: read, readMissed: read, isOver: () => isOver })
}

export interface JobSelection {
  readonly status: JobStatus | null | undefined
  /** The conditions on fields of a job that never change. */
  readonly conditions: readonly Condition[]
  /** The jobs of the first value, newest first. */
  readonly page: PageRequest
}

/**
 * Follows the tenant's jobs that match a filter: first the newest ones, then those that change. A job that no longer has
 * the state of the filter is included once more. After missed notifications all jobs that changed meanwhile are included, in any
 * state, because they may have had the state of the filter. If there are more than `maxChanges`, those that changed first are left out.
 *
 */
export async function followJobs(
  context: Context,
  { status, conditions, page }: JobSelection,
): Promise<LiveValues<SelectedRow<'Job'>[]>> {
  const { viewer, loaders, jobs: store, changes } = context
  const follower = await changes.follow(
    (change) =>
      change.tenantAppId === viewer.tenantAppId &&
      (status == null || change.status === status || change.before === status),
  )
  /** Reads the jobs that changed last, in the order of their changes. */
  async function read(condition: Condition): Promise<SelectedRow<'Job'>[]> {
    const jobs = await loaders.list('Job', {
      conditions: [...conditions, condition],
      order: byTime('updatedAt', 'ASC'),
      direction: 'DESC',
      limit: maxChanges,
    })
    return jobs.toReversed()
  }
  const ofNewest = status == null ? conditions : [...conditions, equal('status')(status)]
  const readNewest = async () =>
    (await loaders.list('Job', { conditions: ofNewest, ...windowOf(page) })).slice(0, page.size)
  let isCurrentUntil = new Date()

  return liveValues(follower, {
    readPresent: readNewest,
    async readChanged(ids) {
      const jobs = await read({ field: 'id', is: 'in', value: ids })
      isCurrentUntil = new Date()
      return jobs.length > 0 ? jobs : undefined
    },
    async readMissed() {
      // The clock that wrote the rows can differ from this one by any time.
      const missed = Date.now() - isCurrentUntil.getTime() + marginMilliseconds
      const since = new Date((await store.readClock()).getTime() - missed)
      const jobs = [...(await readNewest()), ...(await read({ field: 'updatedAt', is: '>=', value: since }))]
      isCurrentUntil = new Date()
      return [...new Map(jobs.map((job) => [job.id, job])).values()]
    },
  })
}

/** A row has the time at which its transaction began, and is visible when it ends. */
const marginMilliseconds = 60_000

interface LiveReads<Value> {
  readPresent(): Promise<Value>
  /** Reads rows that have changed; undefined if none of them matches. */
  readChanged(ids: readonly string[]): Promise<Value | undefined>
  /** Reads what may have changed while notifications were missed. */
  readMissed(): Promise<Value>
  /** Whether there can be no more changes. */
  isOver?(): boolean
}

/** An iterator, because a generator that waits for changes cannot be ended before there are some. */
function liveValues<Value>(
  follower: Follower,
  { readPresent, readChanged, readMissed, isOver = () => false }: LiveReads<Value>,
): LiveValues<Value> {
  let hasStarted = false

  async function read(): Promise<Value | undefined> {
    if (!hasStarted) {
      hasStarted = true
      return readPresent()
    }
    const { done, value } = await follower.next()
    if (done) return undefined
    return value.hasGap ? readMissed() : readChanged(value.changes.map(({ id }) => id))
  }

  const values: LiveValues<Value> = {
    async next() {
      try {
        while (!follower.hasEnded && !isOver()) {
          const value = await read()
          if (value !== undefined) return { done: false, value }
        }
      } catch (error) {
        follower.return()
        throw error
      }
      follower.return()
      return { done: true, value: undefined }
    },
    async return() {
      follower.return()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => values,
  }
  return values
}
