// Measures searches of a large tenant, before PostgreSQL has gathered statistics and after, by the number of its users.
import pg from 'pg'
import { createManyUsers } from '../test/db/large-tenant.ts'
import { listen, prepare } from '../test/support/gateway.ts'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- searches [--rows N,N] [--rounds N]

  --rows    how many users the tenant has (default: 1000000,10000000)
  --rounds  how often each search is sent (default: 15)
  DATABASE_URL names a PostgreSQL server, as a superuser. Without it one is started. 10 million users need 10 GB.
`
const options = readOptions(usage, { rows: '1000000,10000000', rounds: '15' }, { rows: '1000', rounds: '1' })
const searches = {
  rare: 'zyxwvut',
  missing: 'nobody has this',
  'in all': 'example.com',
  'in a quarter': 'grace',
  'a letter': 'a',
}
const query = 'query ($search: String) { users(first: 20, filter: { search: $search }) { nodes { id } } }'

const server = await openServer()
const rows = []
try {
  for (const users of options.rows.split(',').map(Number)) {
    const url = await server.createDatabase()
    const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
    const admin = new pg.Client({ connectionString: url })
    // The server is removed with this connection if something fails.
    admin.on('error', () => undefined)
    await admin.connect()
    await admin.query('ALTER TABLE "user" SET (autovacuum_enabled = off)')
    await createManyUsers(admin, tenantAppId, users)
    const gateway = await listen(url)
    for (const state of ['no statistics', 'statistics']) {
      if (state === 'statistics') await admin.query('ANALYZE "user"')
      const times = []
      for (const search of Object.values(searches)) times.push(await measure(gateway, key, search))
      rows.push(`| ${users.toLocaleString('en')} | ${state} | ${times.join(' | ')} |`)
    }
    await gateway.close()
    await admin.end()
  }
} finally {
  await server.remove()
}
process.stdout.write(
  [
    `Milliseconds of a page of 20 users, medians of ${options.rounds} rounds and the longest.`,
    '',
    `| users | | ${Object.keys(searches).join(' | ')} |`,
    `|---|---|${'---|'.repeat(Object.keys(searches).length)}`,
    ...rows,
    '',
  ].join('\n'),
)

async function measure({ app }, key, search) {
  const times = []
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const startedAt = performance.now()
    const payload = { query, variables: { search } }
    const response = await app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload })
    if (response.json().errors) return response.json().errors[0].extensions.code
    times.push(performance.now() - startedAt)
  }
  return `${median(times).toFixed(0)} (${Math.max(...times).toFixed(0)})`
}
