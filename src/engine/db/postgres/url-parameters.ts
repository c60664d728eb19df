import { toUrl } from './to-url.ts'

/** The parameters of a URL that the gateway uses, as psql and node-postgres do. */
export const usedParameters: ReadonlySet<string> = new Set(
  (
    'application_name channel_binding client_encoding encoding host options port user password ' +
    'lock_timeout sslcert sslkey sslmode sslnegotiation sslrootcert'
  ).split(' '),
)

/**
 * The parameters that providers put into their URLs, and Prisma or psql understand, but that change nothing here; each
 * with what does so instead. None of them protects anything: a parameter that does must not be ignored.
 */
const unusedParameters: ReadonlyMap<string, string> = new Map([
  ['connect_timeout', 'DATABASE_CONNECT_TIMEOUT sets how long opening a connection may take'],
  ['connection_limit', 'DATABASE_POOL_SIZE sets the number of connections'],
  ['fallback_application_name', 'use application_name'],
  ['keepalives', 'the gateway sets its own'],
  ['keepalives_count', 'the gateway sets its own'],
  ['keepalives_idle', 'the gateway sets its own'],
  ['keepalives_interval', 'the gateway sets its own'],
  ['pgbouncer', 'DATABASE_DIRECT_URL says that DATABASE_URL is a pooler of transactions'],
  ['pool_timeout', 'DATABASE_ACQUIRE_TIMEOUT sets how long a statement waits for a connection'],
  ['socket_timeout', 'DATABASE_STATEMENT_TIMEOUT sets how long a statement may take'],
  ['statement_cache_size', 'a connection keeps up to 200 prepared statements'],
  ['supa', 'it is for programs of Supabase'],
  ['target_session_attrs', 'a server that accepts no writes is noticed by the first write'],
  ['tcp_user_timeout', 'it follows DATABASE_STATEMENT_TIMEOUT'],
  ['uselibpqcompat', 'sslmode always means what it means to psql'],
])

/** Whether the gateway accepts a parameter. */
export function isKnownParameter(name: string): boolean {
  return usedParameters.has(name) || unusedParameters.has(name)
}

/**
 * Lists the parameters of a URL that change nothing.
 *
 * @returns sentences without their beginning, which is the name of a variable
 */
export function unusedParametersOf(url: string): string[] {
  return [...new Set(toUrl(url).searchParams.keys())].flatMap((name) => {
    const instead = unusedParameters.get(name)
    return instead === undefined ? [] : `has the parameter ${name}, which has no effect: ${instead}`
  })
}
