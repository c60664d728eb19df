import { isDeepStrictEqual } from 'node:util'
import type { JobLimits } from './domain/job/job.input.ts'
import type { Backoff } from './domain/job/store/transitions.ts'
import type { DatabaseLocation } from './engine/db/location.ts'
import { problemsOfSslMode, toUrl, unusedParametersOf } from './engine/db/postgres/parse-url.ts'
import { OperatorError } from './engine/errors.ts'
import type { HttpTimeouts } from './engine/http/server/server-options.ts'
import type { LoadLimits } from './engine/limits/concurrency.ts'
import type { AllowedNetworks } from './engine/network/private-networks.ts'
import { own } from './engine/own.ts'
import { packageVersion } from './engine/telemetry/package-version.ts'
import type { TracingConfig } from './engine/telemetry/tracing.ts'
import { type Environment, environment } from './environment.ts'

/** The configuration of a process. Its variables and their defaults are in environment.ts. */
export interface Config {
  /** What has no effect, as lines of the log. */
  readonly notes: readonly string[]
  readonly database: DatabaseLocation
  /** How long `serve` and `work` wait for a database that is not there yet. */
  readonly databaseWaitMilliseconds: number
  readonly host: string
  readonly port: number
  readonly timeouts: HttpTimeouts
  /** How long `serve` goes on after SIGTERM, while `/ready` says that it will stop. */
  readonly drainMilliseconds: number
  /** How long the process may take to stop after that. */
  readonly shutdownMilliseconds: number
  readonly load: LoadLimits
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxSubscriptionsPerKey: number
  /** The maximum number of WebSockets of one key at a time. */
  readonly maxSocketsPerKey: number
  /** The most MiB of unread long responses of the clients of one key. */
  readonly maxUnsentMibPerKey: number
  /** The port of `/metrics`; undefined: the port of the gateway. */
  readonly metricsPort: number | undefined
  /** How requests are traced; undefined: not at all. */
  readonly traces: TracingConfig | undefined
  readonly logLevel: Environment['LOG_LEVEL']
  readonly logFormat: Environment['LOG_FORMAT']
  readonly graphiql: boolean
  /** Whether `/console` is served. */
  readonly console: boolean
  /** Whether pages show the key of the demo tenant to browsers on this machine. */
  readonly showsDemoKey: boolean
  readonly introspection: boolean
  /** Whether an array of operations is executed. */
  readonly batching: boolean
  /** The files and folders of trusted documents, and what happens to other documents. */
  readonly trusted: { readonly paths: readonly string[]; readonly others: 'log' | 'reject' } | undefined
  readonly jobLimits: JobLimits
  /** How long finished jobs are kept; 0: forever. */
  readonly jobRetentionDays: number
  /** How long an event is kept; 0 keeps it forever. */
  readonly eventRetentionDays: number
  /** How long usage is kept; 0 keeps it forever. */
  readonly usageRetentionDays: number
  /** Whether operations of clients without a name are rejected. */
  readonly requiresClientName: boolean
  /** The private networks to which `fetch_content` and webhooks may connect. */
  readonly fetchPrivateNetworks: AllowedNetworks
  /** The header `user-agent` of `fetch_content`. */
  readonly fetchUserAgent: string
  /** The keys that encrypt stored secrets, the one in use first. Empty: none is set. */
  readonly secretKeys: readonly Buffer[]
  /** The key with which commands use a gateway as a client. */
  readonly apiKey: string | undefined
  readonly corsOrigins: readonly string[]
  /** Further headers that these pages may send. */
  readonly corsHeaders: readonly string[]
  /** Points per tenant and minute; 0: no limit. */
  readonly pointsPerMinute: number
  /** Points per user and minute, for access tokens that are bound to a user; 0: no limit per user. */
  readonly pointsPerUser: number
  /** The issuer and the audience of access tokens. */
  readonly tokenIssuer: string
  /** The file with the identity providers whose tokens are accepted. */
  readonly trustedIssuersFile: string | undefined
  /** Where several gateways count points together. */
  readonly redisUrl: string | undefined

  // No variable sets these.
  /** How long a failed job waits. */
  readonly backoff: Backoff
  /** The most characters that a request may read: twice the longest response. */
  readonly maxReadLength: number
  /** How long API keys are cached, so how late a revocation can take effect. */
  readonly keyCacheMilliseconds: number
  /** How long `/metrics` returns the same response to everyone. Collecting the metrics takes milliseconds. */
  readonly metricsAgeMilliseconds: number
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat: below the timeouts of proxies. */
  readonly heartbeatMilliseconds: number
}

/**
 * Reads the configuration. Empty variables count as unset.
 *
 * @param env the environment
 * @throws OperatorError naming every invalid variable and what it must be. It contains no values, which may be secret
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { data, error } = environment.safeParse(set)
  const ended = new Set(
    Object.entries(set).flatMap(([name, value]) => (differsWithoutNewLine(name, value) ? [name] : [])),
  )
  const others = error?.issues.filter(({ path }) => !ended.has(String(path[0]))) ?? []
  if (!data || ended.size > 0) {
    const problems = others.map(({ path, message }) => `${String(path[0])} ${message}`)
    const endProblems = [...ended].map((name) => `${name} ends with a new line, as a value from a file does. Remove it`)
    throw new OperatorError([...problems, ...endProblems].join('\n'))
  }
  requireSslMode(data)
  return toConfig(data)
}

/** Whether a value means something else because it ends with a new line. URLs of PostgreSQL and lists may. */
function differsWithoutNewLine(name: string, value = ''): boolean {
  const variable = own(environment.shape, name)
  const text = value.replace(/[\r\n]+$/, '')
  if (!variable || text === value) return false
  return !isDeepStrictEqual(variable.safeParse(value).data, variable.safeParse(text || undefined).data)
}

/** Other programs accept more values in PGSSLMODE, so it is checked only if the gateway uses it. */
function requireSslMode(env: Environment): void {
  const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URLS, PGSSLMODE } = env
  const urls = [DATABASE_URL, DATABASE_DIRECT_URL, ...DATABASE_REPLICA_URLS].filter((url) => url !== undefined)
  const isUsed = urls.some((url) => !toUrl(url).searchParams.has('sslmode'))
  const [problem] = isUsed && PGSSLMODE !== undefined ? problemsOfSslMode(PGSSLMODE) : []
  if (problem !== undefined) throw new OperatorError(`PGSSLMODE ${problem}`)
}

function notesOn({ DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URLS }: Environment): string[] {
  const named = { DATABASE_URL: [DATABASE_URL], DATABASE_DIRECT_URL: [DATABASE_DIRECT_URL], DATABASE_REPLICA_URLS }
  return Object.entries(named).flatMap(([name, urls]) =>
    urls.flatMap((url) => (url === undefined ? [] : unusedParametersOf(url).map((note) => `${name} ${note}`))),
  )
}

const localOrigins = ['http://localhost:*', 'http://127.0.0.1:*']

function trustedOf(env: Environment): Config['trusted'] {
  const [paths, mode] = [env.TRUSTED_DOCUMENTS, env.TRUSTED_DOCUMENTS_MODE]
  if (paths.length === 0 || mode === 'off') return undefined
  return { paths, others: mode === 'only' ? 'reject' : 'log' }
}

function toConfig(env: Environment): Config {
  const isEmbedded = env.DATABASE_URL === undefined
  const trusted = trustedOf(env)
  return {
    notes: notesOn(env),
    database: databaseOf(env),
    databaseWaitMilliseconds: env.DATABASE_WAIT,
    host: env.HOST,
    port: env.PORT,
    timeouts: {
      // Node rejects options with which the headers may come later than the whole request.
      headersMilliseconds: Math.min(env.HEADERS_TIMEOUT, env.REQUEST_TIMEOUT),
      requestMilliseconds: env.REQUEST_TIMEOUT,
      keepAliveMilliseconds: env.KEEP_ALIVE_TIMEOUT,
      idleMilliseconds: env.IDLE_TIMEOUT,
    },
    // HAProxy by default checks every 2 seconds, and notices after 3 failures. No load balancer is before an embedded
    // database.
    drainMilliseconds: env.DRAIN_DELAY ?? (isEmbedded ? 0 : 7_000),
    shutdownMilliseconds: env.SHUTDOWN_TIMEOUT,
    load: {
      maxInFlight: env.MAX_IN_FLIGHT,
      maxInFlightPerKey: env.MAX_IN_FLIGHT_PER_KEY,
      maxEventLoopDelayMilliseconds: env.MAX_EVENT_LOOP_DELAY,
    },
    maxSubscriptionsPerKey: env.MAX_SUBSCRIPTIONS_PER_KEY,
    maxSocketsPerKey: env.MAX_SOCKETS_PER_KEY,
    maxUnsentMibPerKey: env.MAX_UNSENT_MIB_PER_KEY,
    metricsPort: env.METRICS_PORT,
    traces: tracingOf(env),
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
    // GraphiQL and the console could run no operation if only trusted documents are executed.
    graphiql: (env.GRAPHIQL ?? isEmbedded) && trusted?.others !== 'reject',
    console: env.CONSOLE && trusted?.others !== 'reject',
    showsDemoKey: env.DEMO_KEY === 'show',
    introspection: env.INTROSPECTION ?? isEmbedded,
    batching: env.BATCHING,
    trusted,
    jobLimits: { payloadKib: env.MAX_JOB_PAYLOAD_KIB, resultKib: env.MAX_JOB_RESULT_KIB },
    backoff: { delaySeconds: 5, maxDelaySeconds: 3_600 },
    maxReadLength: 16 * 1024 * 1024,
    keyCacheMilliseconds: 3_000,
    metricsAgeMilliseconds: 1_000,
    heartbeatMilliseconds: 12_000,
    jobRetentionDays: env.JOB_RETENTION_DAYS,
    eventRetentionDays: env.EVENT_RETENTION_DAYS,
    usageRetentionDays: env.USAGE_RETENTION_DAYS,
    requiresClientName: env.REQUIRE_CLIENT_NAME,
    fetchPrivateNetworks: env.FETCH_PRIVATE_NETWORKS,
    fetchUserAgent: env.FETCH_USER_AGENT ?? `FusionGateway/${packageVersion()}`,
    // The second variable is the former name of the first.
    secretKeys: [...env.SECRET_KEYS, ...env.WEBHOOK_SECRET_KEY].map((key) => Buffer.from(key, 'base64')),
    // On the database for development, pages of development servers.
    corsOrigins: isEmbedded && env.CORS_ORIGINS.length === 0 ? localOrigins : env.CORS_ORIGINS,
    corsHeaders: env.CORS_HEADERS,
    pointsPerMinute: env.RATE_LIMIT,
    pointsPerUser: env.RATE_LIMIT_PER_USER,
    tokenIssuer: env.TOKEN_ISSUER,
    trustedIssuersFile: env.TRUSTED_ISSUERS,
    redisUrl: env.REDIS_URL,
    apiKey: env.FUSION_API_KEY,
  }
}

/** The exporter reads the address of the collector, and more, from the environment. */
function tracingOf(env: Environment): TracingConfig | undefined {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || env.OTEL_SDK_DISABLED || env.OTEL_TRACES_EXPORTER === 'none') return undefined
  return {
    sampler: env.OTEL_TRACES_SAMPLER,
    sampledRatio: env.OTEL_TRACES_SAMPLER_ARG,
    batches: {
      scheduledDelayMillis: env.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: env.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize: env.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
    },
  }
}

function databaseOf(env: Environment): DatabaseLocation {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_REPLICA_URLS: replicas } = env
  if (url === undefined && directUrl !== undefined) {
    throw new OperatorError('DATABASE_DIRECT_URL needs DATABASE_URL, the URL of PgBouncer.')
  }
  if (url === undefined && replicas.length > 0) {
    throw new OperatorError('DATABASE_REPLICA_URLS needs DATABASE_URL, the URL of the primary.')
  }
  if (url === undefined && env.DATABASE_NODES !== undefined) {
    throw new OperatorError('DATABASE_NODES needs DATABASE_URL, the URL of a node of Citus.')
  }
  if (url === undefined) return { kind: 'embedded', dataDir: env.DATA_DIR }
  return {
    kind: 'postgresql',
    url,
    directUrl,
    pool: {
      size: env.DATABASE_POOL_SIZE,
      connectMilliseconds: env.DATABASE_CONNECT_TIMEOUT,
      acquireMilliseconds: env.DATABASE_ACQUIRE_TIMEOUT,
      statementMilliseconds: env.DATABASE_STATEMENT_TIMEOUT,
    },
    followsNodes: env.DATABASE_NODES === 'follow',
    replicas: replicas.length > 0 ? { urls: replicas, lagMilliseconds: env.REPLICA_LAG } : undefined,
  }
}
