import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fusion } from '../support/cli.ts'
import { canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'

const isTested = Boolean(process.env['TEST_CITUS_URL']) && canCreateCitus

const lacking = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relname !~ '_\\d+$' AND CASE relkind
    WHEN 'r' THEN NOT has_table_privilege('later', oid, 'SELECT')
    WHEN 'S' THEN NOT has_sequence_privilege('later', oid, 'UPDATE') END`

describe.skipIf(!isTested)('a role that is created after the distribution', () => {
  it('gets its privileges on all servers from the statements of migrate deploy --grants', async () => {
    const servers = await createCitusServers(2)
    onTestFinished(() => servers.remove())
    const { coordinator } = servers
    await distribute(servers)
    await rowsOf(coordinator.adminUrl, 'CREATE ROLE later LOGIN')

    const grants = await fusion(['migrate', 'deploy', '--grants', 'later'], { DATABASE_URL: coordinator.ownerUrl })
    expect(grants).toMatchObject({ code: 0, stderr: '' })
    for (const line of grants.stdout.split('\n')) await rowsOf(coordinator.ownerUrl, line)
    for (const { adminUrl } of servers.all) expect(await rowsOf(adminUrl, lacking)).toEqual([])
  }, 120_000)
})

async function rowsOf(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
