import type { Viewer } from './auth/viewer.ts'
import type { Database } from './db/database.ts'
import { createLoaders, type Loaders } from './db/read/loaders.ts'
import { createIdempotency, type Idempotency } from './idempotency/idempotency.ts'
import { createJobChanges, type JobChanges } from './job/changes/job-changes.ts'
import { type Backoff, createJobStore, type JobStore } from './job/store/job-store.ts'
import { createProcessTurns, type ProcessTurns } from './limits/turns.ts'
import type { Logger } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import type { RequestTrace } from './telemetry/tracing.ts'

/** What a process shares between its requests. */
export interface Services {
  readonly database: Database
  readonly jobs: JobStore
  readonly changes: JobChanges
  readonly idempotency: Idempotency
  readonly metrics: Metrics
  readonly turns: ProcessTurns
}

/** Creates the services of an open database. They send no statement before they are used. */
export function createServices(
  database: Database,
  { backoff, metrics = createMetrics() }: { readonly backoff?: Backoff; readonly metrics?: Metrics } = {},
): Services {
  return {
    database,
    jobs: createJobStore(database, backoff),
    changes: createJobChanges(database.driver),
    idempotency: createIdempotency(database),
    metrics,
    turns: createProcessTurns(),
  }
}

/** The context of one request, or of one page of a stream. Every resolver and every service gets it. */
export interface Context extends Pick<Database, 'prisma' | 'insertRow' | 'transact'> {
  readonly viewer: Viewer
  readonly jobs: JobStore
  readonly changes: JobChanges
  readonly metrics: Metrics
  /** Reads rows of the viewer's tenant. They remember what they have read, so no two requests share them. */
  readonly loaders: Loaders
  readonly log: Logger
  /** The trace of the request, if it is traced. */
  readonly trace: RequestTrace | undefined
}

export function createContext(
  { database, jobs, changes, metrics, turns }: Services,
  viewer: Viewer,
  log: Logger,
  trace?: RequestTrace,
): Context {
  const { prisma, insertRow, transact, reads } = database
  const loaders = createLoaders(reads, viewer.tenantAppId, (search) => turns.searches.take(viewer.keyId, search))
  return { prisma, insertRow, transact, viewer, jobs, changes, metrics, loaders, log, trace }
}
