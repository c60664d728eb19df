import { createSecureContext, getCACertificates } from 'node:tls'
import { OperatorError } from '@fusion-gateway/base'
import type pg from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import pgpass from 'pgpass'

/** The parameters of a URL that the gateway uses, as psql and node-postgres do. */
const usedParameters: ReadonlySet<string> = new Set(
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
  ['connect_timeout', 'opening a connection may take 5 s'],
  ['connection_limit', 'DATABASE_POOL_SIZE sets the number of connections'],
  ['fallback_application_name', 'use application_name'],
  ['keepalives', 'the gateway sets its own'],
  ['keepalives_count', 'the gateway sets its own'],
  ['keepalives_idle', 'the gateway sets its own'],
  ['keepalives_interval', 'the gateway sets its own'],
  ['pgbouncer', 'DATABASE_DIRECT_URL says that DATABASE_URL is a pooler of transactions'],
  ['pool_timeout', 'statements wait 5 s for a connection'],
  ['socket_timeout', 'DATABASE_STATEMENT_TIMEOUT sets how long a statement may take'],
  ['statement_cache_size', 'a connection keeps up to 200 prepared statements'],
  ['supa', 'it is for programs of Supabase'],
  ['target_session_attrs', 'a server that accepts no writes is noticed by the first write'],
  ['tcp_user_timeout', 'it follows DATABASE_STATEMENT_TIMEOUT'],
  ['uselibpqcompat', 'sslmode always means what it means to psql'],
])

/** The parameters that are accepted, or have a problem of their own. */
const knownParameters: ReadonlySet<string> = new Set([...usedParameters, ...unusedParameters.keys(), 'schema'])

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

/** What a URL says about connections to its server. */
export interface ServerConfig extends pg.ClientConfig {
  /** Whether a server that does not accept TLS gets a connection without it. */
  readonly prefersTls?: boolean
  /** Whether a server is refused that does not prove that nobody is between it and the client. */
  readonly requiresChannelBinding?: boolean
}

/**
 * Parses the URL of a server and reads the certificates that it names. node-postgres would read them again for each
 * connection, and a file that cannot be opened would then end the process, because the pool opens connections in
 * callbacks.
 *
 * `sslmode` means what it means to psql (https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION),
 * and not what node-postgres 8 makes of it. A URL without `sslmode` gets PGSSLMODE. A URL without a password gets
 * PGPASSWORD, or the password in `~/.pgpass`.
 *
 * @throws OperatorError if PGSSLMODE is wrong, or the certificates cannot be used
 */
export function parseUrl(text: string): ServerConfig {
  const url = toUrl(text)
  const { searchParams: given } = url
  const usesSystemAuthorities = given.get('sslrootcert') === 'system'
  const mode = given.get('sslmode') ?? (usesSystemAuthorities ? 'verify-full' : defaultSslMode())
  const binding = given.get('channel_binding')
  if (mode !== undefined) given.set('sslmode', mode)
  if (usesSystemAuthorities) given.delete('sslrootcert')
  for (const name of [...given.keys()]) if (!usedParameters.has(name)) given.delete(name)
  try {
    const config = toClientConfig(parse(url.href, { useLibpqCompat: true }))
    if (usesSystemAuthorities) Object.assign(config.ssl as object, { ca: getCACertificates('system') })
    // Throws if the key belongs to another certificate. Within a connection, that error would leave the connection
    // open.
    if (typeof config.ssl === 'object') createSecureContext(config.ssl)
    // libpq sends nothing encrypted through a socket of this machine.
    const isSocket = config.host?.startsWith('/') === true
    return {
      ...config,
      ...(isSocket && { ssl: false }),
      ...(URL.canParse(text) || given.has('host') ? {} : { host: process.env['PGHOST'] }),
      password: config.password || process.env['PGPASSWORD'] || readPasswordFile,
      prefersTls: mode === 'prefer' && !isSocket,
      enableChannelBinding: binding !== null && binding !== 'disable',
      requiresChannelBinding: binding === 'require',
    }
  } catch (error) {
    throw new OperatorError(`The URL of the database cannot be used: ${(error as Error).message}`)
  }
}

/** Other programs accept more values in PGSSLMODE, so it is checked only if a URL has no sslmode. */
function defaultSslMode(): string | undefined {
  const mode = process.env['PGSSLMODE'] || undefined
  if (mode !== undefined && !sslModes.includes(mode)) throw new OperatorError(`PGSSLMODE ${wrongSslMode}`)
  return mode
}

/**
 * Reads a password from the file that PGPASSFILE names, or from `~/.pgpass`
 * (https://www.postgresql.org/docs/current/libpq-pgpass.html). node-postgres 8 does so too, but warns that its next
 * version does not.
 *
 * @param connection what node-postgres passes, although its types do not say so
 * @returns undefined, which its types do not allow either, if no line of the file matches
 */
function readPasswordFile(connection?: Parameters<typeof pgpass>[0]): Promise<string> {
  // An empty variable counts as unset, but not for pgpass.
  if (process.env['PGPASSWORD'] === '') delete process.env['PGPASSWORD']
  return new Promise((resolve) => connection && pgpass(connection, (password) => resolve(password as string)))
}

/** The modes of libpq, except `allow`, which asks for TLS only where the server insists. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']

const wrongSslMode = `is not supported. Use one of ${sslModes.join(', ')}`

const choices = { channel_binding: ['disable', 'prefer', 'require'], sslnegotiation: ['postgres', 'direct'] }

const severalHosts =
  'must name one host. For several servers, name a proxy such as PgBouncer or HAProxy, or a DNS name of the primary'

/**
 * Lists the problems of the URL of a PostgreSQL server. Parts that would be misread are problems too, and parameters
 * that are ignored here and protect something elsewhere.
 *
 * @param example of a URL, for texts that are not URLs
 * @returns the ends of sentences that begin with the name of a variable. They never contain a part of a password
 */
export function problemsOfUrl(text: string, example: string): string[] {
  if (/#/.test(text)) return ['has a #. Write it as %23']
  if (!isPostgresUrl(text)) return [namesSeveralHosts(text) ? severalHosts : `must be a URL: ${example}`]
  const { username, searchParams: given, pathname, search } = toUrl(text)
  // The name of the role would be parsed as the host, and a part of the password as the rest.
  if (username === '' && /@/.test(pathname + search))
    return ['has a / or a ? before the host. Write them as %2F and %3F']
  const mode = given.get('sslmode')
  const port = given.get('port') ?? '1'
  const checks: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [namesSeveralHosts(text) || given.get('host')?.includes(',') === true, severalHosts],
    [!isDecodable(text), 'has a % that encodes no character of UTF-8. Write the character % as %25'],
    [/\s/.test(text), 'has a space. Write it as %20'],
    [!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > 65_535, 'has a port that is no number from 1 to 65535'],
    [mode !== null && !sslModes.includes(mode), `has an sslmode that ${wrongSslMode}`],
    [mode === 'verify-ca' && !given.has('sslrootcert'), 'needs sslrootcert with sslmode=verify-ca'],
    // The authorities of the system vouch for every domain, so that the name of the server has to be checked.
    [
      given.get('sslrootcert') === 'system' && !['verify-full', null].includes(mode),
      'needs sslmode=verify-full with sslrootcert=system',
    ],
    [
      given.get('sslnegotiation') === 'direct' && ['disable', 'prefer', null].includes(mode),
      'needs sslmode=require or more with sslnegotiation=direct',
    ],
    ...Object.entries(choices).map(([name, values]) => {
      const isWrong = !values.includes(given.get(name) ?? String(values[0]))
      return [isWrong, `has the parameter ${name}, which must be one of ${values.join(', ')}`] as const
    }),
    [(given.get('schema') ?? 'public') !== 'public', 'has the parameter schema. The tables are in the schema public'],
  ]
  const unknown = [...new Set(given.keys())].filter((name) => !knownParameters.has(name))
  return [
    ...checks.flatMap(([isWrong, problem]) => (isWrong ? problem : [])),
    ...unknown.map(
      (name) => `has the parameter ${name}${name === 'ssl' ? '. Use sslmode' : ', which would have no effect'}`,
    ),
  ]
}

/**
 * Whether a URL lists several hosts, as libpq accepts: `postgresql://a:5432,b:5432/app`. With ports it is no URL for
 * others.
 */
function namesSeveralHosts(text: string): boolean {
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(text) ?? []
  return authority.slice(authority.lastIndexOf('@') + 1).includes(',')
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace('@/', '@localhost/'))
}

function isDecodable(text: string): boolean {
  try {
    return Boolean(decodeURIComponent(text))
  } catch {
    return false
  }
}

/**
 * Parses the URL of a server. psql accepts one that names no host, such as
 * `postgresql://user:password@/database?host=/run/postgresql`, and so do providers whose servers are reached by a
 * socket.
 *
 * @returns the URL; its host is `localhost` if the text names none
 * @throws TypeError if the text is not a URL
 */
export function toUrl(text: string): URL {
  return new URL(URL.canParse(text) ? text : text.replace('@/', '@localhost/'))
}

/** The URL of another server, with the same role, database and parameters. */
export function urlOfNode(text: string, { host, port }: { readonly host: string; readonly port: number }): string {
  const url = toUrl(text)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.hostname = host.includes(':') ? `[${host}]` : host
  url.port = String(port)
  return url.href
}
