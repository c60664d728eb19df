import type { Viewer } from './auth/viewer.ts'
import type { Database } from './db/database.ts'
import { createLoaders, type Loaders } from './loaders.ts'

/** As much of a pino logger as is needed below the servers. */
export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

/** What every resolver and service gets: who asks, the database, and the loaders of this one request. */
export interface Context {
  readonly viewer: Viewer
  readonly prisma: Database['prisma']
  readonly loaders: Loaders
  readonly log: Logger
}

/** A context for one request, or one page of a stream: loaders remember what they have read, so they are never shared. */
export function createContext(database: Database, viewer: Viewer, log: Logger): Context {
  return {
    viewer,
    prisma: database.prisma,
    loaders: createLoaders(database.read, viewer.tenantAppId),
    log,
  }
}
