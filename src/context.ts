import { type AccessTokens, createAccessTokens, defaultTokenIssuer } from './auth/tokens/access-tokens.ts'
import { createSigningKeys } from './auth/tokens/signing-keys.ts'
import type { Viewer } from './auth/viewer.ts'
import type { Model } from './db/data-model.ts'
import type { Database } from './db/database.ts'
import { createLoaders, type Loaders } from './db/read/loaders.ts'
import { createIdempotency, type Idempotency } from './idempotency/idempotency.ts'
import { createJobChanges, type JobChanges } from './job/changes/job-changes.ts'
import type { JobLimits } from './job/job.input.ts'
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
  readonly tokens: AccessTokens
  readonly metrics: Metrics
  readonly turns: ProcessTurns
  /** The most that a request may read, in characters. */
  readonly maxReadLength: number
}

export interface ServicesOptions {
  readonly backoff?: Backoff
  readonly jobLimits?: JobLimits
  /** The issuer of access tokens. */
  readonly tokenIssuer?: string
  readonly metrics?: Metrics
  readonly maxReadLength?: number
}

/** A job can have hundreds of KiB of payload and result. */
const longModels: ReadonlySet<Model> = new Set(['Job'])

/** No answer may be longer than half of it. */
const defaultReadLength = 16 * 1024 * 1024

/** Creates the services of an open database. They send no statement before they are used. */
export function createServices(database: Database, options: ServicesOptions = {}): Services {
  const { backoff, jobLimits, tokenIssuer = defaultTokenIssuer } = options
  const { metrics = createMetrics(), maxReadLength = defaultReadLength } = options
  return {
    database,
    jobs: createJobStore(database, { backoff, limits: jobLimits }),
    changes: createJobChanges(database.driver),
    idempotency: createIdempotency(database),
    tokens: createAccessTokens(createSigningKeys(database), tokenIssuer),
    metrics,
    turns: createProcessTurns(),
    maxReadLength,
  }
}

/** The context of one request, or of one page of a stream. Every resolver and every service gets it. */
export interface Context extends Pick<Database, 'prisma' | 'insertRow' | 'transact'> {
  readonly viewer: Viewer
  readonly jobs: JobStore
  readonly changes: JobChanges
  readonly tokens: AccessTokens
  readonly metrics: Metrics
  /** Reads rows that the viewer may see. They remember what they have read, so no two requests share them. */
  readonly loaders: Loaders
  readonly log: Logger
  /** The trace of the request, if it is traced. */
  readonly trace: RequestTrace | undefined
}

export function createContext(
  { database, jobs, changes, tokens, metrics, turns, maxReadLength }: Services,
  viewer: Viewer,
  log: Logger,
  trace?: RequestTrace,
): Context {
  const { prisma, insertRow, transact, reads } = database
  const loaders = createLoaders(reads, viewer, {
    search: (read) => turns.searches.take(viewer.keyId, read),
    objects: (read) => turns.objects.take(viewer.keyId, read),
    longModels,
    maxLength: maxReadLength,
  })
  return { prisma, insertRow, transact, viewer, jobs, changes, tokens, metrics, loaders, log, trace }
}
