import { z } from 'zod'
import type { JobLimits } from './domain/job/job.input.ts'
import type { Backoff } from './domain/job/store/job-store.ts'
import type { DatabaseLocation } from './engine/db/location.ts'
import { problemsOfSslMode, problemsOfUrl } from './engine/db/postgres/url-problems.ts'
import { OperatorError } from './engine/errors.ts'
import type { LoadLimits } from './engine/http/plugins/load-shedding.ts'
import type { HttpTimeouts } from './engine/http/server/server-options.ts'
import type { TracingConfig } from './engine/telemetry/tracing.ts'

/** The configuration of a process. docs/configuration.md describes the variables. The defaults of the variables are in `environment` below. */
export interface Config {
  readonly database: DatabaseLocation
  readonly host: string
  readonly port: number
  readonly timeouts: HttpTimeouts
  /** How long the process may take to stop. */
  readonly shutdownMilliseconds: number
  readonly load: LoadLimits
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxSubscriptionsPerKey: number
  /** The most MiB of unread long responses of the clients of one key. */
  readonly maxUnsentMibPerKey: number
  /** The port of `/metrics`; undefined: the port of the gateway. */
  readonly metricsPort: number | undefined
  /** How requests are traced; undefined: not at all. */
  readonly traces: TracingConfig | undefined
  readonly logLevel: z.output<typeof environment>['LOG_LEVEL']
  readonly graphiql: boolean
  readonly introspection: boolean
  /** The files and folders of trusted documents, and what happens to other documents. */
  readonly trusted: { readonly paths: readonly string[]; readonly others: 'log' | 'reject' } | undefined
  readonly jobLimits: JobLimits
  /** How long finished jobs are kept; 0: forever. */
  readonly jobRetentionDays: number
  /** Whether `fetch_content` may fetch from private networks. */
  readonly fetchPrivateNetworks: boolean
  readonly corsOrigins: readonly string[]
  /** Further headers that these pages may send. */
  readonly corsHeaders: readonly string[]
  /** Points per key and minute; 0: no limit. */
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

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform((word) => word === 'on')

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The values of `OTEL_TRACES_SAMPLER`. */
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

const port = integer('a number from 0 to 65535', 0, 65_535)

const environment = z.object({
  DATABASE_URL: postgresUrl().optional(),
  DATABASE_DIRECT_URL: postgresUrl().optional(),
  DATABASE_REPLICA_URLS: list(() => true, '').superRefine((urls, context) =>
    urls
      .flatMap((url) => problemsOfUrl(url, `${exampleUrl}, or several separated by commas`))
      .forEach(context.addIssue),
  ),
  PGSSLMODE: z.string().optional(),
  REPLICA_LAG: seconds(5),
  DATABASE_POOL_SIZE: integer('a number of connections from 1 to 1000', 1, 1_000).default(10),
  DATABASE_CONNECT_TIMEOUT: seconds(5),
  DATABASE_ACQUIRE_TIMEOUT: seconds(5),
  DATABASE_STATEMENT_TIMEOUT: seconds(4),
  DATA_DIR: z.string().default('./data'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(4000),
  HEADERS_TIMEOUT: seconds(10),
  REQUEST_TIMEOUT: seconds(30),
  KEEP_ALIVE_TIMEOUT: seconds(72),
  IDLE_TIMEOUT: seconds(120),
  SHUTDOWN_TIMEOUT: seconds(10),
  MAX_IN_FLIGHT: integer('a number of requests, at least 1', 1).default(500),
  MAX_IN_FLIGHT_PER_KEY: integer('a number of requests, at least 1', 1).default(100),
  MAX_SUBSCRIPTIONS_PER_KEY: integer('a number of subscriptions, at least 1', 1).default(100),
  MAX_UNSENT_MIB_PER_KEY: integer('a number of MiB, at least 8', 8).default(256),
  MAX_EVENT_LOOP_DELAY: seconds(1),
  METRICS_PORT: port.optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(/^https?:\/\//, 'http://host:4318').optional(),
  OTEL_TRACES_SAMPLER: z.enum(samplers, `must be one of ${samplers.join(', ')}`).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio(1),
  OTEL_BSP_SCHEDULE_DELAY: integer('a number of milliseconds', 0).default(5_000),
  OTEL_BSP_EXPORT_TIMEOUT: integer('a number of milliseconds', 0).default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: integer('a number of spans, at least 1', 1).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer('a number of spans, at least 1', 1).default(512),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  GRAPHIQL: onOff.optional(),
  INTROSPECTION: onOff.optional(),
  TRUSTED_DOCUMENTS: list(() => true, ''),
  TRUSTED_DOCUMENTS_MODE: z.enum(['off', 'log', 'only'], 'must be off, log or only').default('only'),
  MAX_JOB_PAYLOAD_KIB: kibibytes(64),
  MAX_JOB_RESULT_KIB: kibibytes(256),
  JOB_RETENTION_DAYS: integer('a number of days from 0 (forever) to 36500', 0, 36_500).default(30),
  FETCH_PRIVATE_NETWORKS: onOff.default(false),
  RATE_LIMIT: integer('a number of points, 0 (no limit) or more', 0).default(600_000),
  RATE_LIMIT_PER_USER: integer('a number of points, 0 (no limit) or more', 0).default(60_000),
  TOKEN_ISSUER: z.string().default('urn:fusion-gateway'),
  TRUSTED_ISSUERS: z.string().optional(),
  REDIS_URL: url(/^rediss?:\/\//, 'redis://host:port').optional(),
  CORS_ORIGINS: list(isOrigin, 'must be origins such as https://app.example.com, without a path, separated by commas'),
  CORS_HEADERS: list(isHeaderName, 'must be names of headers, separated by commas'),
})

/** A duration: in seconds in the environment, in milliseconds in the configuration. */
function seconds(byDefault: number) {
  const message = 'must be a number of seconds from 0.001 to 86400'
  return decimal(/^\d+(\.\d+)?$/, message)
    .pipe(z.number().min(0.001, message).max(86_400, message))
    .transform((value) => Math.round(value * 1_000))
    .default(byDefault * 1_000)
}

function ratio(byDefault: number) {
  const message = 'must be a number from 0 to 1'
  return decimal(/^\d*\.?\d+$/, message)
    .pipe(z.number().max(1, message))
    .default(byDefault)
}

/** A size in KiB, at most that of a request's body, 1 MiB. */
function kibibytes(byDefault: number) {
  return integer('a number of KiB from 1 to 1024', 1, 1_024).default(byDefault)
}

function integer(description: string, min: number, max = Number.MAX_SAFE_INTEGER) {
  const message = `must be ${description}`
  return decimal(/^\d+$/, message).pipe(z.number().min(min, message).max(max, message))
}

/** Digits only: `Number` also reads `' '`, `'0x10'` and `'1e3'`. */
function decimal(format: RegExp, message: string) {
  return z.string().regex(format, { message, abort: true }).transform(Number)
}

function url(scheme: RegExp, example: string) {
  return z.string().refine((text) => scheme.test(text) && URL.canParse(text), `must be a URL: ${example}`)
}

function list(isValid: (entry: string) => boolean, message: string) {
  return z
    .string()
    .default('')
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .transform((entries) => entries.filter((entry) => entry !== ''))
    .refine((entries) => entries.every(isValid), { message, abort: true })
}

const exampleUrl = 'postgresql://user@host:port/database'

/** A URL of a PostgreSQL server without parts that have no effect. A URL from a file may end with a new line. */
function postgresUrl() {
  return z
    .string()
    .trim()
    .superRefine((url, context) => problemsOfUrl(url, exampleUrl).forEach(context.addIssue))
}

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/**
 * Reads the configuration. Empty variables count as unset.
 *
 * @param env the environment; tests pass their own
 * @throws OperatorError naming every invalid variable and what it must be. It contains no values, which may be secret
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { data, error } = environment.safeParse(set)
  if (error) {
    throw new OperatorError(error.issues.map(({ path, message }) => `${String(path[0])} ${message}`).join('\n'))
  }
  requireSslMode(data)
  return toConfig(data)
}

/** Other programs accept more values in PGSSLMODE, so it is checked only if the gateway uses it. */
function requireSslMode(env: z.output<typeof environment>): void {
  const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URLS, PGSSLMODE } = env
  const urls = [DATABASE_URL, DATABASE_DIRECT_URL, ...DATABASE_REPLICA_URLS].filter((url) => url !== undefined)
  const isUsed = urls.some((url) => !new URL(url).searchParams.has('sslmode'))
  const [problem] = isUsed && PGSSLMODE !== undefined ? problemsOfSslMode(PGSSLMODE) : []
  if (problem !== undefined) throw new OperatorError(`PGSSLMODE ${problem}`)
}

function toConfig(env: z.output<typeof environment>): Config {
  const isEmbedded = env.DATABASE_URL === undefined
  return {
    database: databaseOf(env),
    host: env.HOST,
    port: env.PORT,
    timeouts: {
      // Node rejects options with which the headers may come later than the whole request.
      headersMilliseconds: Math.min(env.HEADERS_TIMEOUT, env.REQUEST_TIMEOUT),
      requestMilliseconds: env.REQUEST_TIMEOUT,
      keepAliveMilliseconds: env.KEEP_ALIVE_TIMEOUT,
      idleMilliseconds: env.IDLE_TIMEOUT,
    },
    shutdownMilliseconds: env.SHUTDOWN_TIMEOUT,
    load: {
      maxInFlight: env.MAX_IN_FLIGHT,
      maxInFlightPerKey: env.MAX_IN_FLIGHT_PER_KEY,
      maxEventLoopDelayMilliseconds: env.MAX_EVENT_LOOP_DELAY,
    },
    maxSubscriptionsPerKey: env.MAX_SUBSCRIPTIONS_PER_KEY,
    maxUnsentMibPerKey: env.MAX_UNSENT_MIB_PER_KEY,
    metricsPort: env.METRICS_PORT,
    traces: env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? undefined : tracingOf(env),
    logLevel: env.LOG_LEVEL,
    graphiql: env.GRAPHIQL ?? isEmbedded,
    introspection: env.INTROSPECTION ?? isEmbedded,
    trusted:
      env.TRUSTED_DOCUMENTS.length === 0 || env.TRUSTED_DOCUMENTS_MODE === 'off'
        ? undefined
        : { paths: env.TRUSTED_DOCUMENTS, others: env.TRUSTED_DOCUMENTS_MODE === 'only' ? 'reject' : 'log' },
    jobLimits: { payloadKib: env.MAX_JOB_PAYLOAD_KIB, resultKib: env.MAX_JOB_RESULT_KIB },
    backoff: { delaySeconds: 5, maxDelaySeconds: 3_600 },
    maxReadLength: 16 * 1024 * 1024,
    keyCacheMilliseconds: 3_000,
    metricsAgeMilliseconds: 1_000,
    heartbeatMilliseconds: 12_000,
    jobRetentionDays: env.JOB_RETENTION_DAYS,
    fetchPrivateNetworks: env.FETCH_PRIVATE_NETWORKS,
    corsOrigins: env.CORS_ORIGINS,
    corsHeaders: env.CORS_HEADERS,
    pointsPerMinute: env.RATE_LIMIT,
    pointsPerUser: env.RATE_LIMIT_PER_USER,
    tokenIssuer: env.TOKEN_ISSUER,
    trustedIssuersFile: env.TRUSTED_ISSUERS,
    redisUrl: env.REDIS_URL,
  }
}

function tracingOf(env: z.output<typeof environment>): TracingConfig {
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

function databaseOf(env: z.output<typeof environment>): DatabaseLocation {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_REPLICA_URLS: replicas } = env
  if (url === undefined && directUrl !== undefined) {
    throw new OperatorError('DATABASE_DIRECT_URL needs DATABASE_URL, the URL of PgBouncer.')
  }
  if (url === undefined && replicas.length > 0) {
    throw new OperatorError('DATABASE_REPLICA_URLS needs DATABASE_URL, the URL of the primary.')
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
    replicas: replicas.length > 0 ? { urls: replicas, lagMilliseconds: env.REPLICA_LAG } : undefined,
  }
}
