import { createSecureContext } from 'node:tls'
import type pg from 'pg'
import { parse } from 'pg-connection-string'
import pgpass from 'pgpass'
import { OperatorError } from '../../errors.ts'

/**
 * Parses the URL of a server and reads the certificates that it names. node-postgres would read them again for each
 * connection, and a file that cannot be opened would then end the process, because the pool opens connections in callbacks.
 *
 * `sslmode` means what it means to psql (https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION), and not what
 * node-postgres 8 makes of it. A URL without `sslmode` gets PGSSLMODE. A URL without a password gets PGPASSWORD, or the password in `~/.pgpass`.
 *
 * @throws OperatorError if the certificates cannot be used
 */
export function parseUrl(url: string): pg.ClientConfig {
  try {
    const config = parse(withSslMode(url), { useLibpqCompat: true }) as unknown as pg.ClientConfig
    // Throws if the key belongs to another certificate. Within a connection, that error would leave the connection open.
    if (typeof config.ssl === 'object') createSecureContext(config.ssl)
    return { ...config, password: config.password || process.env['PGPASSWORD'] || readPasswordFile }
  } catch (error) {
    throw new OperatorError(`The URL of the database cannot be used: ${(error as Error).message}`)
  }
}

function withSslMode(text: string): string {
  const url = new URL(text)
  const mode = process.env['PGSSLMODE']
  if (mode && !url.searchParams.has('sslmode')) url.searchParams.set('sslmode', mode)
  return url.href
}

/**
 * Reads a password from the file that PGPASSFILE names, or from `~/.pgpass`
 * (https://www.postgresql.org/docs/current/libpq-pgpass.html). node-postgres 8 does so too, but warns that its next version does not.
 *
 * @param connection what node-postgres passes, although its types do not say so
 * @returns undefined, which its types do not allow either, if no line of the file matches
 */
function readPasswordFile(connection?: Parameters<typeof pgpass>[0]): Promise<string> {
  // An empty variable counts as unset, but not for pgpass.
  if (process.env['PGPASSWORD'] === '') delete process.env['PGPASSWORD']
  return new Promise((resolve) => connection && pgpass(connection, (password) => resolve(password as string)))
}
