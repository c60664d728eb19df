import { z } from 'zod'

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform((word) => word === 'on')

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const port = z.coerce
  .number('must be a number from 0 to 65535')
  .int('must be a whole number')
  .min(0, 'must be from 0 to 65535')
  .max(65_535, 'must be from 0 to 65535')

/** A length of time: given in seconds, kept in milliseconds. */
function seconds(fallback: number) {
  return z.coerce
    .number('must be a number of seconds')
    .min(0.001, 'must be at least 0.001 seconds')
    .max(86_400, 'must be at most 86400 seconds')
    .default(fallback)
    .transform((given) => Math.round(given * 1_000))
}

/** Every variable that is read, its default, and what is said when it cannot be used. */
export const environment = z.object({
  DATABASE_URL: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
      'must be a URL: postgresql://user@host:port/database',
    )
    .optional(),
  DATABASE_REPLICA_URLS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((url) => url.trim()))
    .transform((urls) => urls.filter((url) => url !== ''))
    .refine(
      (urls) => urls.every((url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)),
      'must be URLs separated by commas: postgresql://user@host:port/database',
    ),
  REPLICA_LAG: seconds(5),
  DATABASE_POOL_SIZE: z.coerce
    .number('must be a number of connections')
    .int('must be a whole number of connections')
    .min(1, 'must be from 1 to 1000')
    .max(1_000, 'must be from 1 to 1000')
    .default(10),
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
  MAX_IN_FLIGHT: z.coerce
    .number('must be a number of requests')
    .int('must be a whole number of requests')
    .min(1, 'must be at least 1')
    .default(500),
  MAX_EVENT_LOOP_DELAY: seconds(1),
  METRICS_PORT: port.optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), 'must be a URL: http://host:4318')
    .optional(),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  GRAPHIQL: onOff.optional(),
  INTROSPECTION: onOff.optional(),
  TRUSTED_DOCUMENTS: z.string().optional(),
  TRUSTED_DOCUMENTS_MODE: z.enum(['off', 'log', 'only'], 'must be off, log or only').default('only'),
  JOB_RETENTION_DAYS: z.coerce
    .number('must be a number of days')
    .int('must be a whole number of days')
    .min(0, 'must be 0 (for ever) or more')
    .max(36_500, 'must be at most 36500')
    .default(30),
  FETCH_PRIVATE_NETWORKS: onOff.default(false),
  RATE_LIMIT: z.coerce
    .number('must be a number of points')
    .int('must be a whole number of points')
    .min(0, 'must be 0 (no limit) or more')
    .default(600_000),
  REDIS_URL: z
    .string()
    .refine((url) => /^rediss?:\/\//.test(url) && URL.canParse(url), 'must be a URL: redis://host:port')
    .optional(),
  CORS_ORIGINS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((origin) => origin.trim()))
    .transform((origins) => origins.filter((origin) => origin !== ''))
    .refine(
      (origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin),
      'must be origins such as https://app.example.com, without a path, separated by commas',
    ),
})
