import pg from 'pg'

/** The URL of a PostgreSQL server for the suite, with a user who can create databases. Without it the suite runs on PGlite. */
export const adminUrl = process.env['TEST_DATABASE_URL'] || undefined

/** The URL of another database on the same server. */
export function databaseUrl(name: string): string {
  const url = new URL(adminUrl ?? '')
  url.pathname = `/${name}`
  return url.href
}

/** Runs one statement outside of the databases under test. */
export function runAsAdmin(sql: string): Promise<void> {
  return run(adminUrl ?? '', sql)
}

/** Runs one statement on a database of the same server. */
export function runAsAdminOn(name: string, sql: string): Promise<void> {
  return run(databaseUrl(name), sql)
}

async function run(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
