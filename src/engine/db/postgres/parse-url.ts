import { createSecureContext, getCACertificates } from 'node:tls'
import type pg from 'pg'
import { parse } from 'pg-connection-string'
import pgpass from 'pgpass'
import { OperatorError } from '../../errors.ts'
import { toUrl } from './to-url.ts'
import { usedParameters } from './url-parameters.ts'

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
 * @throws OperatorError if the certificates cannot be used
 */
export function parseUrl(text: string): ServerConfig {
  const url = toUrl(text)
  const { searchParams: given } = url
  const usesSystemAuthorities = given.get('sslrootcert') === 'system'
  const mode = given.get('sslmode') ?? (usesSystemAuthorities ? 'verify-full' : process.env['PGSSLMODE'] || undefined)
  const binding = given.get('channel_binding')
  if (mode !== undefined) given.set('sslmode', mode)
  if (usesSystemAuthorities) given.delete('sslrootcert')
  for (const name of [...given.keys()]) if (!usedParameters.has(name)) given.delete(name)
  try {
    const config = parse(url.href, { useLibpqCompat: true }) as unknown as ServerConfig
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
