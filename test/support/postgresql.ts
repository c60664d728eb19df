import pg from 'pg'

/** A PostgreSQL server to run the suite on, as a user who may make databases; without it the suite runs on PGlite. */
export const adminUrl = process.env['TEST_DATABASE_URL'] || undefined

/** The URL of another database on the same server. */
export function databaseUrl(name: string): string {
  const url = new URL(adminUrl ?? '')
  url.pathname = `/${name}`
  return url.href
}

/** Runs one statement outside of the databases under test. */
export async function runAsAdmin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
