import type { Viewer } from './auth/viewer.ts'
import type { Database } from './db/database.ts'
import type { Transactions } from './db/driver.ts'
import type { JobChanges } from './job/job.changes.ts'
import type { JobQueue } from './job/job.queue.ts'
import { createLoaders, type Loaders } from './loaders.ts'
import type { Metrics } from './metrics.ts'
import type { Services } from './services.ts'
import type { RequestTrace } from './tracing.ts'

/** As much of a pino logger as is needed below the servers. */
export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

/** What every resolver and service gets: who asks, the database and its jobs, and the loaders of this one request. */
export interface Context {
  readonly viewer: Viewer
  readonly prisma: Database['prisma']
  readonly create: Database['create']
  readonly transactions: Transactions
  readonly queue: JobQueue
  readonly metrics: Metrics
  readonly changes: JobChanges
  readonly loaders: Loaders
  readonly log: Logger
  /** The trace of the request; undefined where none is made. */
  readonly trace: RequestTrace | undefined
}

/** A context for one request, or one page of a stream: loaders remember what they have read, so they are never shared. */
export function createContext(
  { database, queue, changes, metrics }: Services,
  viewer: Viewer,
  log: Logger,
  trace?: RequestTrace,
): Context {
  return {
    viewer,
    prisma: database.prisma,
    create: database.create,
    transactions: database.driver.transactions,
    queue,
    changes,
    metrics,
    loaders: createLoaders(database, viewer.tenantAppId),
    log,
    trace,
  }
}
