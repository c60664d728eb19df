import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const cli = path.resolve(import.meta.dirname, '../src/cli.ts')

/** Fills an empty database with the product's own commands: ten tenants with 20,000 users, and one with many. */
export async function seedDatabase(url, { users, manyUsers, say }) {
  const fusion = async (...args) => {
    const env = { ...process.env, DATABASE_URL: url }
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...args], { env, maxBuffer: 1e8 })
    return stdout.trim()
  }
  await fusion('migrate', 'deploy')
  for (let number = 1; number <= 10; number += 1) {
    await fusion('tenants', 'create', `Tenant ${number}`)
    await fusion('seed', '--tenant', `Tenant ${number}`, '--users', String(users / 10), '--seed', String(number))
    say(`seeded tenant ${number} of 10`)
  }
  await fusion('tenants', 'create', 'Many')
  await fusion('seed', '--tenant', 'Many', '--users', String(manyUsers))
  say(`seeded a tenant of ${manyUsers} users`)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('ANALYZE')
  const id = async (text, values = []) => (await client.query(text, values)).rows[0].id
  const tenant = await id(`SELECT id FROM tenant_app WHERE name = 'Tenant 1'`)
  const small = await id(`SELECT id FROM tenant_app WHERE name = 'Tenant 10'`)
  const many = await id(`SELECT id FROM tenant_app WHERE name = 'Many'`)
  const userId = await id('SELECT id FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT 1', [tenant])
  const accounts = await client.query(
    'SELECT id FROM account WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT 100',
    [tenant],
  )
  await client.query(
    `INSERT INTO job (tenant_app_id, id, status, job_type, payload, result, attempts, updated_at)
     VALUES ($1, 'job_bench', 'SUCCEEDED', 'fetch_content', '{"url":"https://example.com/feed"}', '{"contentIds":["1","2"]}', 1, now())`,
    [tenant],
  )
  await client.end()
  const keys = {}
  for (const name of ['Tenant 1', 'Tenant 10', 'Many']) keys[name] = await fusion('keys', 'create', '--tenant', name)
  return {
    ...{ tenant, small, many, userId, jobId: 'job_bench', accountIds: accounts.rows.map((row) => row.id) },
    keys: { tenant: keys['Tenant 1'], small: keys['Tenant 10'], many: keys['Many'] },
  }
}
