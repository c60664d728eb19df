import { isDeepStrictEqual } from 'node:util'
import { isNetwork, logFormats, OperatorError, ownValue } from '@fusion-gateway/base'
import { type DatabaseLocation, problemsOfUrl, unusedParametersOf } from '@fusion-gateway/sql'
import { z } from 'zod'

// The formats of environment variables, whose values are texts.

/** A duration: in seconds in the environment, in milliseconds in the configuration. */
function seconds(least = 0.001) {
  const message = `must be a number of seconds from ${least} to 86400`
  return decimal(/^\d+(\.\d+)?$/, message)
    .pipe(z.number().min(least, message).max(86_400, message))
    .transform((value) => Math.round(value * 1_000))
}

/** A whole number, described as `a number of connections from 1 to 1000`. */
function integer(description: string, min: number, max = Number.MAX_SAFE_INTEGER) {
  const message = `must be ${description}`
  return decimal(/^\d+$/, message).pipe(z.number().min(min, message).max(max, message))
}

/** Digits only: `Number` also reads `' '`, `'0x10'` and `'1e3'`. */
function decimal(format: RegExp, message: string) {
  return z.string().regex(format, { message, abort: true }).transform(Number)
}

/** A URL that begins with the scheme. */
function url(scheme: RegExp, example: string) {
  return z.string().refine((text) => scheme.test(text) && URL.canParse(text), `must be a URL: ${example}`)
}

/** Entries that are separated by commas. */
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

/** Such URLs, separated by commas. */
function postgresUrls() {
  const example = `${exampleUrl}, or several separated by commas`
  return list(() => true, '').superRefine((urls, context) =>
    urls.flatMap((url) => problemsOfUrl(url, example)).forEach(context.addIssue),
  )
}

/** Whether a text can be the name of a header. @see https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

/** Whether a text is an origin, such as `https://app.example.com`. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform((word) => word === 'on')

const networksProblem = 'must be on, off, or networks such as 10.20.0.0/16, separated by commas'

/** `on`, `off`, or networks. */
const privateNetworks = z.union(
  [onOff, list(isNetwork, networksProblem).refine((networks) => networks.length > 0, networksProblem)],
  networksProblem,
)

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const secretKeys = list(
  (key) => /^[\w+/-]+=*$/.test(key) && Buffer.from(key, 'base64').length === 32,
  'must be 32 random bytes in base64 (openssl rand -base64 32), or several such keys separated by commas',
)

const port = integer('a number from 0 to 65535', 0, 65_535)

const days = integer('a number of days from 0 (forever) to 36500', 0, 36_500)

/** The variables that a process reads, their formats and their defaults. docs/configuration.md describes them. */
export const environment = z.object({
  DATABASE_URL: postgresUrl().optional(),
  DATABASE_DIRECT_URL: postgresUrl().optional(),
  DATABASE_REPLICA_URLS: postgresUrls(),
  DATABASE_POOL_SIZE: integer('a number of connections from 1 to 1000', 1, 1_000).default(10),
  DATABASE_STATEMENT_TIMEOUT: seconds().default(4_000),
  DATA_DIR: z.string().default('./data'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(4000),
  KEEP_ALIVE_TIMEOUT: seconds().default(72_000),
  DRAIN_DELAY: seconds(0).optional(),
  SHUTDOWN_TIMEOUT: seconds().default(10_000),
  MAX_IN_FLIGHT: integer('a number of requests, at least 1', 1).default(500),
  METRICS_PORT: port.optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(/^https?:\/\//, 'http://host:4318').optional(),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  LOG_FORMAT: z.enum(logFormats, `must be one of ${logFormats.join(', ')}`).default('json'),
  GRAPHIQL: onOff.optional(),
  CONSOLE: onOff.default(true),
  DEMO_KEY: z.enum(['show', 'hide'], 'must be show or hide').default('show'),
  INTROSPECTION: onOff.optional(),
  BATCHING: onOff.default(false),
  FEDERATION: onOff.default(false),
  PLUGINS: list(() => true, ''),
  TRUSTED_DOCUMENTS: list(() => true, ''),
  TRUSTED_DOCUMENTS_MODE: z.enum(['off', 'log', 'only'], 'must be off, log or only').default('only'),
  JOB_RETENTION_DAYS: days.default(30),
  EVENT_RETENTION_DAYS: days.default(30),
  USAGE_RETENTION_DAYS: days.default(90),
  HISTORY_RETENTION_DAYS: days.default(730),
  FETCH_PRIVATE_NETWORKS: privateNetworks.default(false),
  SECRET_KEYS: secretKeys,
  RESPONSE_CACHE_MIB: integer('a number of MiB from 0 (none) to 16384', 0, 16_384).default(64),
  RATE_LIMIT: integer('a number of points, 0 (no limit) or more', 0).default(600_000),
  TOKEN_ISSUER: z.string().default('urn:fusion-gateway'),
  TRUSTED_ISSUERS: z.string().optional(),
  FUSION_API_KEY: z.string().optional(),
  OLD_API_KEY: z.string().optional(),
  REDIS_URL: url(/^rediss?:\/\//, 'redis://host:port').optional(),
  CORS_ORIGINS: list(isOrigin, 'must be origins such as https://app.example.com, without a path, separated by commas'),
  CORS_HEADERS: list(isHeaderName, 'must be names of headers, separated by commas'),
})

type Environment = z.output<typeof environment>

/** What replaces each variable of earlier versions. */
export const removedVariables: Readonly<Record<string, string>> = {
  DATABASE_ACQUIRE_TIMEOUT: 'statements wait 5 s for a connection',
  DATABASE_CONNECT_TIMEOUT: 'opening a connection may take 5 s',
  DATABASE_WAIT: 'serve and work wait 60 s for a database that does not answer yet',
  FETCH_USER_AGENT: 'the user-agent of fetch_content is FusionGateway/ and the version',
  HEADERS_TIMEOUT: 'the headers of a request may take 10 s',
  IDLE_TIMEOUT: 'connections end after 120 s without data',
  MAX_EVENT_LOOP_DELAY: 'requests are refused above a mean event loop delay of 1 s',
  MAX_IN_FLIGHT_PER_KEY: 'it is a fifth of MAX_IN_FLIGHT',
  MAX_JOB_PAYLOAD_KIB: 'the payload of a job has at most 64 KiB',
  MAX_JOB_RESULT_KIB: 'the result of a job has at most 256 KiB',
  MAX_SOCKETS_PER_KEY: 'it is two fifths of MAX_IN_FLIGHT',
  MAX_SUBSCRIPTIONS_PER_KEY: 'it is a fifth of MAX_IN_FLIGHT',
  MAX_UNSENT_MIB_PER_KEY: 'it follows from MAX_IN_FLIGHT: 128 for 500 requests',
  OTEL_BSP_EXPORT_TIMEOUT: 'sending spans may take 30 s, and each attempt OTEL_EXPORTER_OTLP_TIMEOUT',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'a batch has at most 512 spans',
  OTEL_BSP_MAX_QUEUE_SIZE: 'at most 2,048 spans wait to be sent',
  OTEL_BSP_SCHEDULE_DELAY: 'spans are sent every 5 s',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'set OTEL_EXPORTER_OTLP_ENDPOINT, to which /v1/traces is added',
  OTEL_SDK_DISABLED: 'nothing is traced if OTEL_EXPORTER_OTLP_ENDPOINT is unset',
  OTEL_TRACES_EXPORTER: 'nothing is traced if OTEL_EXPORTER_OTLP_ENDPOINT is unset',
  OTEL_TRACES_SAMPLER: 'requests are traced unless a client that traces says no: let the collector sample',
  OTEL_TRACES_SAMPLER_ARG: 'requests are traced unless a client that traces says no: let the collector sample',
  RATE_LIMIT_PER_USER: 'it is a tenth of RATE_LIMIT, and at least 60,000',
  REPLICA_LAG: 'a replica may be 5 s behind',
  REQUEST_TIMEOUT: 'a request may take 30 s to arrive',
  REQUIRE_CLIENT_NAME: 'clients need no name; fusion usage lists requests without one by their key',
  WEBHOOK_SECRET_KEY: 'add its keys to the end of SECRET_KEYS',
}

/** The configuration of a process. */
export type Config = ReturnType<typeof toConfig>

/**
 * Reads the configuration. Empty variables count as unset.
 *
 * @param env the environment
 * @throws OperatorError naming every variable that is invalid or was removed, and what to do. It contains no values,
 *   which may be secret
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { data, error } = environment.safeParse(set)
  const ended = Object.entries(set).flatMap(([name, value]) => (differsWithoutNewLine(name, value) ? [name] : []))
  const invalid = error?.issues.filter(({ path }) => !ended.includes(String(path[0]))) ?? []
  const removed = Object.entries(removedVariables).filter(([name]) => ownValue(set, name) !== undefined)
  const problems = [
    ...invalid.map(({ path, message }) => `${String(path[0])} ${message}`),
    ...ended.map((name) => `${name} ends with a new line, as a value from a file does. Remove it`),
    ...removed.map(([name, instead]) => `${name} was removed: ${instead}`),
  ]
  if (!data || problems.length > 0) throw new OperatorError(problems.join('\n'))
  return toConfig(data)
}

/**
 * Reads the configuration of a process that serves.
 *
 * @throws OperatorError as `readConfig`, and if the metrics have the port of the gateway
 */
export function readServerConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  if (config.metricsPort !== undefined && config.metricsPort === config.port && config.port !== 0)
    throw new OperatorError(
      `METRICS_PORT is ${config.port}, the port of the gateway (PORT). Set it to another port, or remove it: without it, the port of the gateway serves /metrics.`,
    )
  return config
}

/** Whether a value means something else because it ends with a new line. URLs of PostgreSQL and lists may. */
function differsWithoutNewLine(name: string, value = ''): boolean {
  const variable = ownValue(environment.shape, name)
  const text = value.replace(/[\r\n]+$/, '')
  if (!variable || text === value) return false
  return !isDeepStrictEqual(variable.safeParse(value).data, variable.safeParse(text || undefined).data)
}

const localOrigins = ['http://localhost:*', 'http://127.0.0.1:*']

function toConfig(env: Environment) {
  const isEmbedded = env.DATABASE_URL === undefined
  const trusted = trustedOf(env)
  return {
    /** What has no effect, as lines of the log. */
    notes: notesOn(env),
    database: databaseOf(env),
    /** How long `serve` and `work` wait for a database that is not there yet. */
    databaseWaitMilliseconds: 60_000,
    host: env.HOST,
    port: env.PORT,
    timeouts: {
      headersMilliseconds: 10_000,
      requestMilliseconds: 30_000,
      keepAliveMilliseconds: env.KEEP_ALIVE_TIMEOUT,
      idleMilliseconds: 120_000,
    },
    /** How long it serves after SIGTERM: HAProxy by default notices after 3 checks, one every 2 seconds. */
    drainMilliseconds: env.DRAIN_DELAY ?? (isEmbedded ? 0 : 7_000),
    /** How long the process may take to stop after that. */
    shutdownMilliseconds: env.SHUTDOWN_TIMEOUT,
    ...limitsOf(env),
    responseCacheBytes: env.RESPONSE_CACHE_MIB * 1024 * 1024,
    /** The port of `/metrics`; undefined: the port of the gateway. */
    metricsPort: env.METRICS_PORT,
    /** How long `/metrics` returns the same response to everyone. Collecting the metrics takes milliseconds. */
    metricsAgeMilliseconds: 1_000,
    /** Whether there is a collector of traces. The exporter reads its address from the environment. */
    hasCollector: env.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
    // GraphiQL and the console could run no operation if only trusted documents are executed.
    graphiql: (env.GRAPHIQL ?? isEmbedded) && trusted?.others !== 'reject',
    console: env.CONSOLE && trusted?.others !== 'reject',
    /** Whether pages show the key of the demo tenant to browsers on this machine. */
    showsDemoKey: env.DEMO_KEY === 'show',
    introspection: env.INTROSPECTION ?? isEmbedded,
    batching: env.BATCHING,
    /** Whether the schema has what a router of Apollo Federation asks for. */
    federation: env.FEDERATION,
    trusted,
    /** The files of the operator's plugins of GraphQL Yoga. */
    pluginFiles: env.PLUGINS,
    /** How long a failed job waits. */
    backoff: { delaySeconds: 5, maxDelaySeconds: 3_600 },
    /** How long API keys are cached, so how late a revocation can take effect. */
    keyCacheMilliseconds: 3_000,
    /** How often a subscription in Apollo's multipart protocol sends a heartbeat: below the timeouts of proxies. */
    heartbeatMilliseconds: 12_000,
    jobRetentionDays: env.JOB_RETENTION_DAYS,
    eventRetentionDays: env.EVENT_RETENTION_DAYS,
    usageRetentionDays: env.USAGE_RETENTION_DAYS,
    historyRetentionDays: env.HISTORY_RETENTION_DAYS,
    fetchPrivateNetworks: env.FETCH_PRIVATE_NETWORKS,
    /** The keys that encrypt stored secrets, the one in use first. */
    secretKeys: env.SECRET_KEYS.map((key) => Buffer.from(key, 'base64')),
    /** By default on the database for development: pages of development servers. */
    corsOrigins: isEmbedded && env.CORS_ORIGINS.length === 0 ? localOrigins : env.CORS_ORIGINS,
    corsHeaders: env.CORS_HEADERS,
    tokenIssuer: env.TOKEN_ISSUER,
    trustedIssuersFile: env.TRUSTED_ISSUERS,
    redisUrl: env.REDIS_URL,
    /** The key with which commands use a gateway as a client. */
    apiKey: env.FUSION_API_KEY,
    /** The key of the earlier service, for the commands that move to the gateway. */
    oldApiKey: env.OLD_API_KEY,
  }
}

/** The limits. docs/limits.md describes them. */
function limitsOf({ RATE_LIMIT: points, MAX_IN_FLIGHT: maxInFlight }: Environment) {
  return {
    load: {
      maxInFlight,
      maxInFlightPerKey: Math.ceil(maxInFlight / 5),
      maxEventLoopDelayMilliseconds: 1_000,
    },
    maxSubscriptionsPerKey: Math.ceil(maxInFlight / 5),
    maxSocketsPerKey: Math.ceil((maxInFlight * 2) / 5),
    // At least one response of the greatest length.
    maxUnsentMibPerKey: Math.max(8, Math.ceil((maxInFlight * 128) / 500)),
    pointsPerMinute: points,
    pointsPerUser: points === 0 ? 0 : Math.max(60_000, Math.ceil(points / 10)),
    /** The most characters that a request may read: twice the longest response. */
    maxReadLength: 16 * 1024 * 1024,
  }
}

/** The files and folders of trusted documents, and what happens to other documents. */
function trustedOf(env: Environment): { paths: readonly string[]; others: 'log' | 'reject' } | undefined {
  const { TRUSTED_DOCUMENTS: paths, TRUSTED_DOCUMENTS_MODE: mode } = env
  if (paths.length === 0 || mode === 'off') return undefined
  return { paths, others: mode === 'only' ? 'reject' : 'log' }
}

function notesOn({ DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URLS }: Environment): string[] {
  const named = { DATABASE_URL: [DATABASE_URL], DATABASE_DIRECT_URL: [DATABASE_DIRECT_URL], DATABASE_REPLICA_URLS }
  return Object.entries(named).flatMap(([name, urls]) =>
    urls.flatMap((url) => (url === undefined ? [] : unusedParametersOf(url).map((note) => `${name} ${note}`))),
  )
}

function databaseOf(env: Environment): DatabaseLocation {
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
      connectMilliseconds: 5_000,
      acquireMilliseconds: 5_000,
      statementMilliseconds: env.DATABASE_STATEMENT_TIMEOUT,
    },
    replicas: replicas.length > 0 ? { urls: replicas, lagMilliseconds: 5_000 } : undefined,
  }
}
