import type { Database } from './db/database.ts'
import { createJobChanges, type JobChanges } from './job/job.changes.ts'
import { type Backoff, createJobQueue, type JobQueue } from './job/job.queue.ts'

/** What a process works with: the database, the queue of its jobs, and the news of them. */
export interface Services {
  readonly database: Database
  readonly queue: JobQueue
  readonly changes: JobChanges
}

/** The services on an open database. Nothing is sent before they are used. */
export function createServices(database: Database, backoff?: Backoff): Services {
  return { database, queue: createJobQueue(database, backoff), changes: createJobChanges(database.driver) }
}

/** Ends what the services have opened themselves. The database stays open. */
export async function closeServices({ queue, changes }: Services): Promise<void> {
  await changes.close()
  await queue.close()
}
