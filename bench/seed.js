import pg from 'pg'
import { fusionOn, projectRoot } from './peer.js'

/**
 * Fills an empty database with the gateway's own commands: `tenants` tenants that share `users` users, and one with
 * `manyUsers`.
 *
 * @returns ids and keys for the requests
 */
export async function seedDatabase(url, { root = projectRoot, users, tenants = 10, manyUsers, log }) {
  const fusion = fusionOn(url, root)
  await fusion('migrate', 'deploy')
  const last = `Tenant ${tenants}`
  for (let number = 1; number <= tenants; number += 1) {
    await fusion('tenants', 'create', `Tenant ${number}`)
    await fusion('seed', '--tenant', `Tenant ${number}`, '--users', String(users / tenants), '--seed', String(number))
  }
  await fusion('tenants', 'create', 'Many')
  await fusion('seed', '--tenant', 'Many', '--users', String(manyUsers))
  log(`seeded ${users} users in ${tenants} tenants, and ${manyUsers} in one`)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('ANALYZE')
  // As in the gateway's sessions: compiling a statement takes longer than running it, and would count against the peers
  // and the limit.
  await client.query(`ALTER DATABASE ${client.database} SET jit = off`)
  const id = async (text, values = []) => (await client.query(text, values)).rows[0].id
  const tenant = await id(`SELECT id FROM tenant_app WHERE name = 'Tenant 1'`)
  const small = await id('SELECT id FROM tenant_app WHERE name = $1', [last])
  const many = await id(`SELECT id FROM tenant_app WHERE name = 'Many'`)
  const userId = await id('SELECT id FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT 1', [tenant])
  const ofTenant = await client.query(
    'SELECT id FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT 2000',
    [tenant],
  )
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
  for (const name of ['Tenant 1', last, 'Many']) keys[name] = await fusion('keys', 'create', '--tenant', name)
  return {
    tenant,
    small,
    many,
    userId,
    userIds: ofTenant.rows.map((row) => row.id),
    jobId: 'job_bench',
    accountIds: accounts.rows.map((row) => row.id),
    keys: { tenant: keys['Tenant 1'], small: keys[last], many: keys['Many'] },
  }
}
