// Runs the tests on tables that Citus distributes over servers: `npm run suite -- distributed`. TEST_CITUS_URL is the
// URL of a superuser and of a database of a coordinator, in which citus_add_node has added the nodes. The same user can
// connect to them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import pg from 'pg'

const url = process.env['TEST_CITUS_URL']
if (!url) {
  process.stdout.write('Skipped: TEST_CITUS_URL is not set.\n')
} else {
  const vitest = path.resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, TEST_DATABASE_URL: url, TEST_CITUS_NODES: JSON.stringify(await readNodes(url)) },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
}

async function readNodes(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid <> 0 ORDER BY 1`,
  )
  await client.end()
  return rows.map(({ node }) => node as string)
}
