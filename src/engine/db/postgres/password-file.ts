import pgpass from 'pgpass'

/**
 * Reads a password from the file that PGPASSFILE names, or from `~/.pgpass`
 * (https://www.postgresql.org/docs/current/libpq-pgpass.html). node-postgres 8 does so too, but warns that its next version does not.
 *
 * @param connection passed by node-postgres, although its types do not say so
 * @returns undefined if no line of the file matches, although the types of node-postgres do not allow it
 */
export function readPasswordFile(connection?: Parameters<typeof pgpass>[0]): Promise<string> {
  // An empty variable counts as unset, but not for pgpass.
  if (process.env['PGPASSWORD'] === '') delete process.env['PGPASSWORD']
  return new Promise((resolve) => connection && pgpass(connection, (password) => resolve(password as string)))
}
