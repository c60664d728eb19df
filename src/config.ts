import { z } from 'zod'
import { OperatorError } from './operator.ts'

const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform((word) => word === 'on')

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const environment = z.object({
  DATABASE_URL: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
      'must be a URL: postgresql://user@host:port/database',
    )
    .optional(),
  DATA_DIR: z.string().default('./data'),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce
    .number('must be a number from 0 to 65535')
    .int('must be a whole number')
    .min(0, 'must be from 0 to 65535')
    .max(65_535, 'must be from 0 to 65535')
    .default(4000),
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

/** Where rows live: a PostgreSQL server, or the embedded PGlite in a folder (`memory` for none). */
export type DatabaseLocation =
  | { readonly kind: 'postgresql'; readonly url: string }
  | { readonly kind: 'embedded'; readonly dataDir: string }

/** Everything that the environment decides. */
export interface Config {
  readonly database: DatabaseLocation
  readonly host: string
  readonly port: number
  readonly logLevel: (typeof logLevels)[number]
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
  const { DATABASE_URL, DATA_DIR, HOST, PORT, LOG_LEVEL, GRAPHIQL, CORS_ORIGINS } = parsed.data
  const { INTROSPECTION, TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_MODE } = parsed.data
  const { JOB_RETENTION_DAYS, FETCH_PRIVATE_NETWORKS, RATE_LIMIT, REDIS_URL } = parsed.data
  return {
    database: DATABASE_URL ? { kind: 'postgresql', url: DATABASE_URL } : { kind: 'embedded', dataDir: DATA_DIR },
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
