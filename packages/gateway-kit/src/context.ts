import type { KeyRing, Viewer } from '@fusion-gateway/auth'
import { type AccessTokens, createAccessTokens, createSigningKeys } from '@fusion-gateway/auth'
import { GatewayError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { type Budget, createFairQueues, type FairQueues } from '@fusion-gateway/limits'
import { createLoaders, type Excess, type Loaders, type Model, type ViewerClient } from '@fusion-gateway/prisma-trees'
import { type RequestDatabase, type Sql, waitFor } from '@fusion-gateway/sql'
import type { Client, Logger, RequestTrace, UsageCounter } from '@fusion-gateway/telemetry'
import { createMetrics, type Metrics } from '@fusion-gateway/telemetry'
import { createIdempotency, type Idempotency } from './idempotency/idempotency.ts'

/** The services of a process that requests use. The domain adds its own by declaration merging (domain/services.ts). */
export interface RequestServices {
  readonly tokens: AccessTokens
  readonly metrics: Metrics
}

export interface Services extends RequestServices, EngineServices {}

/** The services that do not depend on the domain. */
export interface EngineServices extends Pick<RequestServices, 'tokens' | 'metrics'> {
  readonly database: Database
  readonly idempotency: Idempotency
  readonly queues: FairQueues
  readonly usageCounts: UsageCounter
  readonly reading: ReadSettings
}

/** The models that reads treat in a special way, and how much a request may read. */
interface ReadSettings {
  /** The model of the users that access tokens are bound to. */
  readonly userModel: Model
  /** The models whose rows can have hundreds of KiB of JSON. */
  readonly longModels: ReadonlySet<Model>
  /** The most that a request may read, in characters. */
  readonly maxLength: number
}

/** The parts of the domain that the engine depends on. */
export interface DomainParts {
  readonly userModel: Model
  readonly longModels: readonly Model[]
  readonly usageCounts: UsageCounter
}

export interface EngineOptions {
  readonly tokenIssuer: string
  /** The most that a request may read, in characters. */
  readonly maxReadLength: number
  readonly metrics?: Metrics
  /** The queues, if the database has the one of writes already. */
  readonly queues?: FairQueues
  /** Encrypts stored secrets. Without it there are no webhooks, and signing keys are stored as they are. */
  readonly keyRing?: KeyRing | undefined
}

/** Creates the services that do not depend on the domain. They send no statement before they are used. */
export function createEngineServices(
  database: Database,
  { userModel, longModels, usageCounts }: DomainParts,
  options: EngineOptions,
): EngineServices {
  const { tokenIssuer, maxReadLength, keyRing, metrics = createMetrics(), queues = createFairQueues() } = options
  return {
    database,
    idempotency: createIdempotency(),
    tokens: createAccessTokens(createSigningKeys(database, keyRing), tokenIssuer),
    metrics,
    queues,
    usageCounts,
    reading: { userModel, longModels: new Set(longModels), maxLength: maxReadLength },
  }
}

/** What reads and writes for a request, by its statements or by those of a transaction within it. */
export interface RequestRows {
  /** Sends its statements. */
  readonly sql: Sql
  /** Prisma Client of the viewer: reads and writes what the viewer may see and change (prisma-trees/trees.ts). */
  readonly db: ViewerClient
  /** Read the rows that the viewer may see. They remember these rows, so no two requests share them. */
  readonly loaders: Loaders
}

/** The operation of a subscription, as its source needs to know it. */
export interface SubscribedOperation {
  /**
   * Takes points for what the source reads of the log. Returns the budget with least left; undefined if none is
   * limited.
   *
   * @throws GatewayError RATE_LIMITED
   */
  spend(points: number): Promise<Budget | undefined>
}

/** The context of one request, or of one page of a stream. Every resolver and every service gets it. */
export interface Context extends RequestServices, RequestRows {
  readonly viewer: Viewer
  /** Undefined for what the gateway executes by itself. */
  readonly client: Client | undefined
  readonly within: (transaction: Sql) => RequestRows
  readonly log: Logger
  /** Only for the sources of subscriptions. */
  readonly subscription?: SubscribedOperation
  /** Only for live queries: ends the query after this result. */
  readonly live?: { end(): void }
  /** Stands for one execution, for what its viewer may not see (pothos-trees/masked.ts). */
  readonly execution?: object
  readonly trace: RequestTrace | undefined
}

type RequestParts = Pick<Context, 'viewer' | 'log'> & {
  readonly statements: RequestDatabase
  readonly trace?: RequestTrace | undefined
  readonly client?: Client | undefined
}

export function createContext(
  { database, idempotency: _, usageCounts: __, queues, reading, ...services }: Services,
  { viewer, log, statements, trace, client }: RequestParts,
): Context {
  const { tenantAppId, userId } = viewer
  statements.tenantAppId = tenantAppId
  const owner = { id: tenantAppId, within: userId === undefined ? undefined : { model: reading.userModel, id: userId } }
  const limits = {
    search: <Result>(read: () => Promise<Result>) => waitFor(statements, () => queues.searches.run(viewer, read)),
    objects: <Result>(read: () => Promise<Result>) => waitFor(statements, () => queues.objects.run(viewer, read)),
    longModels: reading.longModels,
    maxLength: reading.maxLength,
    errorFor: (excess: Excess) => tooExpensive(excess, reading.maxLength),
  }
  const within = (sql: Sql): RequestRows => {
    const loaders = createLoaders(sql, database.reads, owner, limits)
    return { sql, loaders, db: database.trees.of({ sql, owner, loaders }) }
  }
  return { ...services, ...within(database.sql.for(statements)), within, viewer, client, log, trace }
}

/** TOO_EXPENSIVE, for a read that is longer, or takes longer, than a client may ask for. */
function tooExpensive({ of, isSearch, cause }: Excess, maxLength: number): GatewayError {
  const messages = {
    length: `The operation reads more than ${maxLength / 1024 / 1024} MiB. Request fewer rows or fields.`,
    filter: `The filter takes too long. Use fewer conditions, or conditions on ids.${isSearch ? ' Search for a longer part of the text.' : ''}`,
    order: 'The filter and the order take too long. Use fewer conditions, conditions on ids, or no thenBy.',
    statistics: 'The statistics take too long. Use a filter that selects fewer rows.',
  }
  const limit = of === 'length' ? 'read_length' : 'filter_time'
  return new GatewayError('TOO_EXPENSIVE', messages[of], cause === undefined ? { limit } : { limit, cause })
}
