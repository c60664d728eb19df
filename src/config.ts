import type { z } from 'zod'
import { environment } from './environment.ts'
import { OperatorError } from './operator.ts'

/** Where rows live: a PostgreSQL server, or the embedded PGlite in a folder (`memory` for none). */
export type DatabaseLocation =
  | {
      readonly kind: 'postgresql'
      readonly url: string
      readonly pool?: Partial<PoolSettings>
      readonly replicas?: ReplicaSettings | undefined
    }
  | { readonly kind: 'embedded'; readonly dataDir: string }

/** How many connections to PostgreSQL there are at most, and how long each is waited for. */
export interface PoolSettings {
  readonly size: number
  readonly connectMilliseconds: number
  /** How long a statement waits for a connection. */
  readonly acquireMilliseconds: number
  /** How long a statement may take. */
  readonly statementMilliseconds: number
}

/** Servers that follow the primary by streaming replication, for reads. */
export interface ReplicaSettings {
  readonly urls: readonly string[]
  /** How far behind one may be: for so long a key that has written reads from the primary. */
  readonly lagMilliseconds: number
}

/** How long a client is waited for. */
export interface HttpTimeouts {
  /** Until the headers of a request are there. */
  readonly headersMilliseconds: number
  /** Until the request is there whole. */
  readonly requestMilliseconds: number
  /** Until the next request comes on a connection. */
  readonly keepAliveMilliseconds: number
  /** Until something is sent or taken on a connection that is in use. */
  readonly idleMilliseconds: number
}

/** How much is taken on; what is more is refused. */
export interface LoadLimits {
  /** How many requests are answered at a time. */
  readonly maxInFlight: number
  /** How late timers may be: the longer, the more every answer waits for the others' work. */
  readonly maxEventLoopDelayMilliseconds: number
}

/** Everything that the environment decides. */
export interface Config {
  readonly database: DatabaseLocation
  readonly host: string
  readonly port: number
  readonly timeouts: HttpTimeouts
  /** How long what is under way may take to end after the process was told to stop. */
  readonly shutdownMilliseconds: number
  readonly load: LoadLimits
  /** Where the metrics are served; beside everything else when absent. */
  readonly metricsPort: number | undefined
  /** The collector that traces are sent to; none are made when absent. */
  readonly traceCollector: string | undefined
  readonly logLevel: z.infer<typeof environment>['LOG_LEVEL']
  readonly graphiql: boolean
  readonly introspection: boolean
  /** The file of trusted documents, and what becomes of others. */
  readonly trusted: { readonly file: string; readonly others: 'log' | 'refuse' } | undefined
  /** How long finished jobs are kept; 0: for ever. */
  readonly jobRetentionDays: number
  /** Whether the `fetch_content` jobs may fetch from addresses that are not on the public internet. */
  readonly fetchPrivateNetworks: boolean
  readonly corsOrigins: readonly string[]
  /** How many points a key may spend in a minute; 0: as many as it likes. */
  readonly pointsPerMinute: number
  /** Where several gateways count those points together. */
  readonly redisUrl: string | undefined
}

/**
 * Reads the configuration. An empty variable counts as unset.
 *
 * @param env the environment, `process.env` but in tests
 * @throws OperatorError naming every variable that cannot be used, and what it must be; never its value, which may be secret
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = environment.safeParse(given)
  if (!parsed.success) {
    throw new OperatorError(parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`).join('\n'))
  }
  return toConfig(parsed.data)
}

function toConfig(given: z.infer<typeof environment>): Config {
  const { DATABASE_URL, HOST, PORT, LOG_LEVEL, GRAPHIQL, CORS_ORIGINS } = given
  const { INTROSPECTION, TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_MODE } = given
  const { JOB_RETENTION_DAYS, FETCH_PRIVATE_NETWORKS, RATE_LIMIT, REDIS_URL } = given
  return {
    database: locationOf(given),
    timeouts: {
      // Node takes no request whose headers may come later than its body.
      headersMilliseconds: Math.min(given.HEADERS_TIMEOUT, given.REQUEST_TIMEOUT),
      requestMilliseconds: given.REQUEST_TIMEOUT,
      keepAliveMilliseconds: given.KEEP_ALIVE_TIMEOUT,
      idleMilliseconds: given.IDLE_TIMEOUT,
    },
    shutdownMilliseconds: given.SHUTDOWN_TIMEOUT,
    load: { maxInFlight: given.MAX_IN_FLIGHT, maxEventLoopDelayMilliseconds: given.MAX_EVENT_LOOP_DELAY },
    metricsPort: given.METRICS_PORT,
    traceCollector: given.OTEL_EXPORTER_OTLP_ENDPOINT,
    host: HOST,
    port: PORT,
    logLevel: LOG_LEVEL,
    graphiql: GRAPHIQL ?? DATABASE_URL === undefined,
    introspection: INTROSPECTION ?? DATABASE_URL === undefined,
    trusted:
      TRUSTED_DOCUMENTS === undefined || TRUSTED_DOCUMENTS_MODE === 'off'
        ? undefined
        : { file: TRUSTED_DOCUMENTS, others: TRUSTED_DOCUMENTS_MODE === 'only' ? 'refuse' : 'log' },
    jobRetentionDays: JOB_RETENTION_DAYS,
    fetchPrivateNetworks: FETCH_PRIVATE_NETWORKS,
    corsOrigins: CORS_ORIGINS,
    pointsPerMinute: RATE_LIMIT,
    redisUrl: REDIS_URL,
  }
}

function locationOf(given: z.infer<typeof environment>): DatabaseLocation {
  if (given.DATABASE_URL === undefined && given.DATABASE_REPLICA_URLS.length > 0) {
    throw new OperatorError('DATABASE_REPLICA_URLS needs DATABASE_URL, the primary that they follow.')
  }
  if (given.DATABASE_URL === undefined) return { kind: 'embedded', dataDir: given.DATA_DIR }
  return {
    kind: 'postgresql',
    url: given.DATABASE_URL,
    pool: {
      size: given.DATABASE_POOL_SIZE,
      connectMilliseconds: given.DATABASE_CONNECT_TIMEOUT,
      acquireMilliseconds: given.DATABASE_ACQUIRE_TIMEOUT,
      statementMilliseconds: given.DATABASE_STATEMENT_TIMEOUT,
    },
    replicas:
      given.DATABASE_REPLICA_URLS.length > 0
        ? { urls: given.DATABASE_REPLICA_URLS, lagMilliseconds: given.REPLICA_LAG }
        : undefined,
  }
}
