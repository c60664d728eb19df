import type { Database } from './db/database.ts'
import { createIdempotency, type Idempotency } from './idempotency/idempotency.ts'
import { createJobChanges, type JobChanges } from './job/job.changes.ts'
import { type Backoff, createJobQueue, type JobQueue } from './job/job.queue.ts'
import { createMetrics, type Metrics } from './metrics.ts'

/** What a process works with: the database, the queue of its jobs, their news, what was done once, what is measured. */
export interface Services {
  readonly database: Database
  readonly queue: JobQueue
  readonly changes: JobChanges
  readonly idempotency: Idempotency
  readonly metrics: Metrics
}

/** The services on an open database. Nothing is sent before they are used. */
export function createServices(
  database: Database,
  { backoff, metrics = createMetrics() }: { readonly backoff?: Backoff; readonly metrics?: Metrics } = {},
): Services {
  return {
    database,
    queue: createJobQueue(database, backoff),
    changes: createJobChanges(database.driver),
    idempotency: createIdempotency(database),
    metrics,
  }
}

/** Ends what the services have opened themselves. The database stays open. */
export async function closeServices({ queue, changes }: Services): Promise<void> {
  await changes.close()
  await queue.close()
}
