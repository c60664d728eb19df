// Polls for the benchmark of live queries: reads the trees of all users each second, and compares them.
import { hash } from 'node:crypto'
import pg from 'pg'

const [, , url, tenantAppId, count] = process.argv
const pool = new pg.Pool({ connectionString: url, max: 10 })
const groups = Array.from({ length: Math.ceil(Number(count) / 100) }, (_, group) =>
  Array.from({ length: Math.min(100, Number(count) - group * 100) }, (_, number) => `usr_${group * 100 + number}`),
)
const known = new Map()

const statement = {
  name: 'poll',
  text: `
    SELECT followed.id, tree.json FROM unnest($2::text[]) AS followed (id) LEFT JOIN LATERAL (
      SELECT json_build_object('id', u.id, 'name', u.name, 'accounts', (
        SELECT json_agg(json_build_object('displayName', a.display_name, 'profile', (
          SELECT json_build_object('username', p.username, 'followersCount', p.followers_count) FROM profile AS p
          WHERE p.tenant_app_id = $1 AND p.account_id = a.id)) ORDER BY a.created_at, a.id)
        FROM account AS a WHERE a.tenant_app_id = $1 AND a.user_id = u.id))::text AS json
      FROM "user" AS u WHERE u.tenant_app_id = $1 AND u.id = followed.id
    ) AS tree ON true`,
}

async function poll() {
  await Promise.all(
    groups.map(async (ids) => {
      const { rows } = await pool.query({ ...statement, values: [tenantAppId, ids] })
      for (const { id, json } of rows) {
        const found = hash('sha256', json ?? '', 'base64')
        if (known.get(id) !== found) known.set(id, found)
      }
    }),
  )
}

await poll()
process.send('ready')
setInterval(poll, 1_000)
