import { z } from 'zod'
import { problemsOfUrl } from './engine/db/postgres/parse-url.ts'
import { isNetwork } from './engine/network/private-networks.ts'
import { logFormats } from './engine/telemetry/log-formats.ts'

// The formats of environment variables, whose values are texts.

/** A duration: in seconds in the environment, in milliseconds in the configuration. */
function seconds(byDefault: number, least = 0.001) {
  return duration(least).default(byDefault * 1_000)
}

/** A duration whose default depends on other variables. */
function duration(least: number) {
  const message = `must be a number of seconds from ${least} to 86400`
  return decimal(/^\d+(\.\d+)?$/, message)
    .pipe(z.number().min(least, message).max(86_400, message))
    .transform((value) => Math.round(value * 1_000))
}

/** A number from 0 to 1. */
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

/** A whole number, described as `a number of connections from 1 to 1000`. */
function integer(description: string, min: number, max = Number.MAX_SAFE_INTEGER) {
  const message = `must be ${description}`
  return decimal(/^\d+$/, message).pipe(z.number().min(min, message).max(max, message))
}

/** Digits only: `Number` also reads `' '`, `'0x10'` and `'1e3'`. */
function decimal(format: RegExp, message: string) {
  return z.string().regex(format, { message, abort: true }).transform(Number)
}

/**
 * A URL.
 *
 * @param scheme how it begins
 */
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

/** OpenTelemetry's booleans: every other text is false. */
const isTrue = (text: string) => text.trim().toLowerCase() === 'true'

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

const secretKeys = list(
  (key) => /^[\w+/-]+=*$/.test(key) && Buffer.from(key, 'base64').length === 32,
  'must be 32 random bytes in base64 (openssl rand -base64 32), or several such keys separated by commas',
)

const port = integer('a number from 0 to 65535', 0, 65_535)

/** The variables that a process reads, and their defaults. docs/configuration.md describes them. */
export const environment = z.object({
  DATABASE_URL: postgresUrl().optional(),
  DATABASE_DIRECT_URL: postgresUrl().optional(),
  DATABASE_REPLICA_URLS: postgresUrls(),
  DATABASE_NODES: z.enum(['follow'], 'must be "follow", or unset').optional(),
  PGSSLMODE: z.string().optional(),
  REPLICA_LAG: seconds(5),
  DATABASE_POOL_SIZE: integer('a number of connections from 1 to 1000', 1, 1_000).default(10),
  DATABASE_WAIT: seconds(60, 0),
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
  DRAIN_DELAY: duration(0).optional(),
  SHUTDOWN_TIMEOUT: seconds(10),
  MAX_IN_FLIGHT: integer('a number of requests, at least 1', 1).default(500),
  MAX_IN_FLIGHT_PER_KEY: integer('a number of requests, at least 1', 1).default(100),
  MAX_SUBSCRIPTIONS_PER_KEY: integer('a number of subscriptions, at least 1', 1).default(100),
  MAX_SOCKETS_PER_KEY: integer('a number of WebSockets, at least 1', 1).default(200),
  MAX_UNSENT_MIB_PER_KEY: integer('a number of MiB, at least 8', 8).default(128),
  MAX_EVENT_LOOP_DELAY: seconds(1),
  METRICS_PORT: port.optional(),
  OTEL_SDK_DISABLED: z.string().transform(isTrue).default(false),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], 'must be otlp or none').default('otlp'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(/^https?:\/\//, 'http://host:4318').optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(/^https?:\/\//, 'http://host:4318/v1/traces').optional(),
  OTEL_TRACES_SAMPLER: z.enum(samplers, `must be one of ${samplers.join(', ')}`).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio(1),
  OTEL_BSP_SCHEDULE_DELAY: integer('a number of milliseconds', 0).default(5_000),
  OTEL_BSP_EXPORT_TIMEOUT: integer('a number of milliseconds', 0).default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: integer('a number of spans, at least 1', 1).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer('a number of spans, at least 1', 1).default(512),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  LOG_FORMAT: z.enum(logFormats, `must be one of ${logFormats.join(', ')}`).default('json'),
  GRAPHIQL: onOff.optional(),
  CONSOLE: onOff.default(true),
  DEMO_KEY: z.enum(['show', 'hide'], 'must be show or hide').default('show'),
  INTROSPECTION: onOff.optional(),
  BATCHING: onOff.default(false),
  TRUSTED_DOCUMENTS: list(() => true, ''),
  TRUSTED_DOCUMENTS_MODE: z.enum(['off', 'log', 'only'], 'must be off, log or only').default('only'),
  MAX_JOB_PAYLOAD_KIB: kibibytes(64),
  MAX_JOB_RESULT_KIB: kibibytes(256),
  JOB_RETENTION_DAYS: integer('a number of days from 0 (forever) to 36500', 0, 36_500).default(30),
  EVENT_RETENTION_DAYS: integer('a number of days from 0 (forever) to 36500', 0, 36_500).default(30),
  USAGE_RETENTION_DAYS: integer('a number of days from 0 (forever) to 36500', 0, 36_500).default(90),
  REQUIRE_CLIENT_NAME: onOff.default(false),
  FETCH_PRIVATE_NETWORKS: privateNetworks.default(false),
  FETCH_USER_AGENT: z
    .string()
    .regex(/^[\x21-\x7e]([\x20-\x7e]{0,254}[\x21-\x7e])?$/, 'must be 1 to 256 printable ASCII characters')
    .optional(),
  SECRET_KEYS: secretKeys,
  WEBHOOK_SECRET_KEY: secretKeys,
  RATE_LIMIT: integer('a number of points, 0 (no limit) or more', 0).default(600_000),
  RATE_LIMIT_PER_USER: integer('a number of points, 0 (no limit) or more', 0).default(60_000),
  TOKEN_ISSUER: z.string().default('urn:fusion-gateway'),
  TRUSTED_ISSUERS: z.string().optional(),
  FUSION_API_KEY: z.string().optional(),
  REDIS_URL: url(/^rediss?:\/\//, 'redis://host:port').optional(),
  CORS_ORIGINS: list(isOrigin, 'must be origins such as https://app.example.com, without a path, separated by commas'),
  CORS_HEADERS: list(isHeaderName, 'must be names of headers, separated by commas'),
})

export type Environment = z.output<typeof environment>
