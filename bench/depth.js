import pg from 'pg'
import { median } from './measure.js'
import { fusionOn } from './peer.js'

const pageSize = 20
const depths = [1, 100, 10_000]
const requests = 50

/**
 * Case (k): the latency of a page of users, by the size of the tenant and the depth of the page. Medians in
 * milliseconds.
 */
export async function measureDepth({ port, url, sizes, log }) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const rows = []
  const tenants = []
  for (const size of sizes) {
    const name = `Growth ${size}`
    const fusion = fusionOn(url)
    await fusion('tenants', 'create', name)
    const key = await fusion('keys', 'create', '--tenant', name)
    const { id } = (await client.query('SELECT id FROM tenant_app WHERE name = $1', [name])).rows[0]
    await client.query(
      `INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
       SELECT $1, 'usr_' || number, 'User ' || number, 'user@example.com',
         timestamptz '2026-01-01' + number * interval '1 second', now() FROM generate_series(1, $2::int) AS number`,
      [id, size],
    )
    tenants.push({ size, key, id })
    log(`seeded a tenant of ${size} users`)
  }
  await client.query('VACUUM ANALYZE "user"')
  for (const { size, key, id } of tenants) {
    const times = {}
    for (const depth of depths) {
      if ((depth - 1) * pageSize >= size) continue
      times[depth] = await timePage(port, key, await cursorBefore(client, id, depth))
    }
    rows.push({ size, times })
  }
  await client.end()
  return rows
}

/** The cursor of the row before the page at a depth; undefined for the first page. */
async function cursorBefore(client, tenant, depth) {
  if (depth === 1) return undefined
  const { rows } = await client.query(
    'SELECT created_at, id FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id OFFSET $2 LIMIT 1',
    [tenant, (depth - 1) * pageSize - 1],
  )
  return Buffer.from(`${rows[0].created_at.getTime()} ${rows[0].id}`).toString('base64url')
}

async function timePage(port, key, after) {
  const times = []
  for (let request = 0; request < requests + 10; request += 1) {
    const startedAt = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({
        query: 'query ($after: String) { users(first: 20, after: $after) { nodes { id name } } }',
        variables: { after },
      }),
    })
    const { data } = await response.json()
    if (data.users.nodes.length !== pageSize) throw new Error('The page is not full')
    if (request >= 10) times.push(performance.now() - startedAt)
  }
  return median(times)
}

/** The measurements as a Markdown table. */
export function depthLines(rows) {
  return [
    `| users of the tenant | ${depths.map((depth) => `page ${depth.toLocaleString('en')}`).join(' | ')} |`,
    `|---|${depths.map(() => '---|').join('')}`,
    ...rows.map(
      ({ size, times }) =>
        `| ${size.toLocaleString('en')} | ${depths.map((depth) => (times[depth] ? `${times[depth].toFixed(1)} ms` : '–')).join(' | ')} |`,
    ),
  ]
}
