import { fromPrisma, PgBoss } from 'pg-boss'
import { v5 as uuidv5 } from 'uuid'
import type { Database } from '../db/database.ts'
import type { Prisma } from '../db/generated/prisma/client.ts'

/** Where jobs of one kind and tenant wait. */
export interface QueueName {
  readonly tenantAppId: string
  readonly jobType: string
}

/** A job, as its queue knows it. */
export interface QueuedJob extends QueueName {
  readonly id: string
}

/** How long a failed attempt keeps the next one waiting: the delay doubles with each, up to the greatest. */
export interface Backoff {
  readonly delaySeconds: number
  readonly maxDelaySeconds: number
}

/**
 * Delivery: which job is next, and when one that failed is due again. It holds an entry for each job that waits or
 * runs, and none for one that is finished: the row of the job is what is kept. Every change goes into the transaction
 * that changes the row, so that neither is ever without the other. In such a transaction the entry of a job that others
 * know is written before its row, always, so that two of them cannot wait for each other.
 */
export interface JobQueue {
  /** Makes a queue where there is none. To be called before a transaction that writes to it. */
  prepare(name: QueueName): Promise<void>
  /** Those of the queues that there are. To be called before a transaction that takes from them. */
  existing(names: readonly QueueName[]): Promise<QueueName[]>
  /**
   * Adds a job, to be taken at once or from `runAt` on, and to be tried again so many times at most.
   *
   * @returns false when it has the job already
   */
  send(
    tx: Prisma.TransactionClient,
    job: QueuedJob,
    options: { runAt?: Date | undefined; retries: number },
  ): Promise<boolean>
  /** Takes the jobs that have waited longest. Nobody else gets them, unless the transaction fails. */
  take(tx: Prisma.TransactionClient, name: QueueName, limit: number): Promise<string[]>
  /** Puts a job back that was taken. Gives the time from which it may be taken again; null when it was not taken. */
  putBack(tx: Prisma.TransactionClient, job: QueuedJob): Promise<Date | null>
  /**
   * Removes a job.
   *
   * @returns false when it was not there, or when another transaction has put it back in this very moment: whoever began
   *   before sees neither the old entry nor the new one, and has to begin again
   */
  remove(tx: Prisma.TransactionClient, job: QueuedJob): Promise<boolean>
  /** Ends its timers. */
  close(): Promise<void>
}

interface EntryData {
  readonly id: string
}

/** The entry's id follows from the job's, so that the row need not keep it. */
const entryNamespace = '3f0e7b52-6a0c-4f52-9a2e-5d1f0c4d7a11'

const noEntry = uuidv5('', entryNamespace)

const secondsInADay = 86_400

/** The queue of a migrated database: pg-boss, on the connections of everything else. Nothing is sent before it is used. */
export function createJobQueue(
  { driver }: Pick<Database, 'driver'>,
  backoff: Backoff = { delaySeconds: 5, maxDelaySeconds: 3_600 },
): JobQueue {
  const known = new Set<string>()
  let starting: Promise<PgBoss> | undefined

  /** @throws Error when the queue's tables are not those of this version of pg-boss */
  function start(): Promise<PgBoss> {
    starting ??= startBoss().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }

  async function startBoss(): Promise<PgBoss> {
    // Leases are the rows' own (job.lease.ts), and no finished entry is kept: there is nothing to supervise. Queues are
    // made and never changed, so what is known of them stays true.
    const boss = new PgBoss({
      ...driver.queue,
      ...{ migrate: false, supervise: false, schedule: false, queueCacheIntervalSeconds: secondsInADay },
    })
    boss.on('error', () => undefined)
    try {
      return await boss.start()
    } catch (error) {
      await stop(boss)
      throw error
    }
  }

  // pg-boss makes a queue in a transaction of its own, on a connection of its own: never within one of ours.
  async function existing(names: readonly QueueName[]): Promise<QueueName[]> {
    const others = names.map(nameOf).filter((queue) => !known.has(queue))
    if (others.length > 0) {
      const boss = await start()
      for (const { name } of await boss.getQueues(others)) {
        // pg-boss looks a queue up when it first uses it, on a connection of its own. It must not come to that within a
        // transaction, which has a connection already: a pool full of transactions would wait for itself.
        await boss.touch(name, noEntry)
        known.add(name)
      }
    }
    return names.filter((name) => known.has(nameOf(name)))
  }

  return {
    existing: (names) => driver.transactions.outside(`existing ${names.map(nameOf)}`, () => existing(names)),

    async prepare(name) {
      if (known.has(nameOf(name))) return
      await driver.transactions.outside(`prepare ${nameOf(name)}`, async () => {
        if ((await existing([name])).length > 0) return
        const boss = await start()
        const { delaySeconds, maxDelaySeconds } = backoff
        await boss.createQueue(nameOf(name), {
          ...{ retryDelay: delaySeconds, retryBackoff: true, retryDelayMax: maxDelaySeconds },
          expireInSeconds: secondsInADay,
        })
        await existing([name])
      })
    },

    async send(tx, job, { runAt, retries }) {
      const boss = await start()
      const data: EntryData = { id: job.id }
      const sent = await boss.send(nameOf(job), data, {
        ...{ db: fromPrisma(tx), id: entryOf(job), retryLimit: retries },
        ...(runAt && { startAfter: runAt }),
      })
      return sent !== null
    },

    async take(tx, name, limit) {
      const boss = await start()
      const entries = await boss.fetch<EntryData>(nameOf(name), { db: fromPrisma(tx), batchSize: limit })
      return entries.map(({ data }) => data.id)
    },

    async putBack(tx, job) {
      const boss = await start()
      const options = { db: fromPrisma(tx) }
      await boss.fail(nameOf(job), entryOf(job), null, options)
      const [entry] = await boss.findJobs(nameOf(job), { ...options, id: entryOf(job) })
      return entry?.state === 'retry' ? entry.startAfter : null
    },

    async remove(tx, job) {
      const boss = await start()
      const removed: { affected?: number } = await boss.deleteJob(nameOf(job), entryOf(job), { db: fromPrisma(tx) })
      return removed.affected !== 0
    },

    async close() {
      const boss = await starting?.catch(() => undefined)
      if (boss) await stop(boss)
    },
  }
}

function stop(boss: PgBoss): Promise<void> {
  return boss.stop({ graceful: false, close: false })
}

function nameOf({ tenantAppId, jobType }: QueueName): string {
  return `${tenantAppId}/${jobType}`
}

function entryOf({ tenantAppId, id }: QueuedJob): string {
  return uuidv5(`${tenantAppId}/${id}`, entryNamespace)
}
