import type { Viewer } from './auth/viewer.ts'
import type { Database } from './db/database.ts'
import type { JobChanges } from './job/job.changes.ts'
import type { JobQueue } from './job/job.queue.ts'
import { createLoaders, type Loaders } from './loaders.ts'
import type { Services } from './services.ts'

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
  readonly queue: JobQueue
  readonly changes: JobChanges
  readonly loaders: Loaders
  readonly log: Logger
}

/** A context for one request, or one page of a stream: loaders remember what they have read, so they are never shared. */
export function createContext({ database, queue, changes }: Services, viewer: Viewer, log: Logger): Context {
  return {
    viewer,
    prisma: database.prisma,
    create: database.create,
    queue,
    changes,
    loaders: createLoaders(database, viewer.tenantAppId),
    log,
  }
}
