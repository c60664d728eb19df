import type { Context } from '../context.ts'
import type { Job } from '../db/generated/prisma/client.ts'
import { isPossibleId } from '../db/ids.ts'
import type { Condition } from '../db/list.ts'
import type { PageRequest } from '../db/page.ts'
import type { News } from './job.changes.ts'
import { type JobFilter, jobConditions, readJobPage } from './job.list.ts'

/** Something followed: first as it is now, then whenever there is news. Returning it ends it at once. */
export interface Live<Value> extends AsyncIterator<Value, undefined> {
  return(): Promise<IteratorResult<Value, undefined>>
  [Symbol.asyncIterator](): Live<Value>
}

/**
 * Follows a job: as it is now, then after every change, the latest state where several came at once. When the tenant has
 * no job with that id, or none any more, it ends with null as its last word.
 */
export async function followJob(context: Context, { id }: { readonly id: string }): Promise<Live<Job | null>> {
  const { viewer, prisma, changes } = context
  const { tenantAppId } = viewer
  let isGone = false
  async function read(): Promise<Job | null> {
    const job = isPossibleId(id) ? await prisma.job.findFirst({ where: { tenantAppId, id } }) : null
    isGone = job === null
    return job
  }
  const news = await changes.follow((change) => change.tenantAppId === tenantAppId && change.id === id)
  return live(news, { present: read, changed: read, missed: read, isOver: () => isGone })
}

/**
 * Follows the tenant's jobs of a filter: the newest as they are now, then those that have changed. A job that has just
 * left the filter's state is among them, once.
 *
 * @param page how many of the newest to begin with
 * @throws GatewayError BAD_USER_INPUT when no job can meet the filter
 */
export async function followJobs(
  context: Context,
  { filter, page }: { readonly filter: JobFilter; readonly page: PageRequest },
): Promise<Live<Job[]>> {
  const { viewer, loaders, changes } = context
  const { status, ...unchanging } = filter
  const conditions = jobConditions(unchanging)
  const news = await changes.follow(
    (change) =>
      change.tenantAppId === viewer.tenantAppId &&
      (status == null || change.status === status || change.before === status),
  )
  const read = (which: Condition) =>
    loaders.jobList.read({
      conditions: [...conditions, which],
      orderBy: 'updatedAt',
      direction: 'ASC',
      limit: maxJobs,
    })
  const newest = async () => (await readJobPage(context, { filter, direction: 'DESC' }, page)).slice(0, page.size)
  let goodUntil = new Date()

  return live(news, {
    present: newest,
    async changed(ids) {
      const jobs = await read({ field: 'id', is: 'in', value: ids })
      goodUntil = new Date()
      return jobs.length > 0 ? jobs : undefined
    },
    async missed() {
      // The clock that wrote the rows may be another.
      const since = new Date(goodUntil.getTime() - clockMarginMilliseconds)
      const jobs = [...(await newest()), ...(await read({ field: 'updatedAt', is: '>=', value: since }))]
      goodUntil = new Date()
      return [...new Map(jobs.map((job) => [job.id, job])).values()]
    },
  })
}

/** The most jobs that are shown at once after a gap. */
const maxJobs = 500

const clockMarginMilliseconds = 60_000

interface Reads<Value> {
  /** Reads it as it is. */
  present(): Promise<Value>
  /** Reads what has changed; undefined when that is nothing of this. */
  changed(ids: readonly string[]): Promise<Value | undefined>
  /** Reads whatever may have changed, after news was missed. */
  missed(): Promise<Value>
  /** Whether there can be no more news. */
  isOver?(): boolean
}

/** An iterator and no generator: a generator that waits for news could not be returned before there is some. */
function live<Value>(news: News, { present, changed, missed, isOver = () => false }: Reads<Value>): Live<Value> {
  let begun = false

  async function read(): Promise<Value | undefined> {
    if (!begun) {
      begun = true
      return present()
    }
    const { done, value } = await news.next()
    if (done) return undefined
    return value.gap ? missed() : changed(value.changes.map(({ id }) => id))
  }

  const values: Live<Value> = {
    async next() {
      try {
        while (!news.ended && !isOver()) {
          const value = await read()
          if (value !== undefined) return { done: false, value }
        }
      } catch (error) {
        news.return()
        throw error
      }
      news.return()
      return { done: true, value: undefined }
    },
    async return() {
      news.return()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => values,
  }
  return values
}
