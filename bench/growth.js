// Measures what a tenant costs by the number of its users: time and memory of requests, of commands and of building
// indexes.
import { spawn } from 'node:child_process'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createManyUsers } from '../test/db/large-tenant.ts'
import { startGateway } from '../test/support/cli.ts'
import { prepare } from '../test/support/gateway.ts'
import { writeGrowthChart } from './growth-chart.js'
import { memoryOf, peakMemory, resetPeakMemory } from './machine.js'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { fusionOn, projectRoot } from './peer.js'
import { openServer } from './server.js'

const usage = `npm run bench -- growth [--users N,N] [--rounds N] [--chart]

  --users   how many users the tenant has (default: 10000,100000,1000000,10000000)
  --rounds  how often each request is sent (default: 15)
  --chart   draw the table in docs/scaling.md as docs/growth.svg, and measure nothing
  DATABASE_URL names a PostgreSQL server of this machine, as a superuser. Without it one is started.
  10 million users need 40 GB, and hours: each size has an event and a job for each tenth user.
`
const options = readOptions(
  usage,
  { users: '10000,100000,1000000,10000000', rounds: '15', chart: false },
  { users: '1000', rounds: '1' },
)
if (options.chart) {
  writeGrowthChart()
  process.exit(0)
}
const sizes = options.users.split(',').map(Number)
const rounds = Number(options.rounds)
const pageSize = 20

/** The cells of each row: what is measured, and a text for each size. */
const table = new Map()
function note(title, text) {
  table.set(title, [...(table.get(title) ?? []), text])
  // A large size takes hours: what it has measured is known when a later step fails.
  process.stderr.write(`${title}: ${text}\n`)
}
/** `1234.5, 56` ⇒ `1,235 ms, 56 MiB` */
const cell = (milliseconds, mebibytes) =>
  `${milliseconds.toLocaleString('en', { maximumFractionDigits: milliseconds < 10 ? 1 : 0 })} ms, ${mebibytes.toFixed(0)} MiB`

const server = await openServer()
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-growth-'))
try {
  for (const users of sizes) await measureSize(users)
} finally {
  await server.remove()
  rmSync(folder, { recursive: true })
}
process.stdout.write(
  [
    `Medians of ${rounds} rounds, with the longest in brackets. The memory is the peak of the process that does the work: the gateway,`,
    'the command, or the session of PostgreSQL that builds an index.',
    '',
    `| | ${sizes.map((users) => `${users.toLocaleString('en')} users`).join(' | ')} |`,
    `|---|${'---|'.repeat(sizes.length)}`,
    ...[...table].map(([title, cells]) => `| ${title} | ${cells.join(' | ')} |`),
    '',
  ].join('\n'),
)

async function measureSize(users) {
  const url = await server.createDatabase()
  const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
  const admin = new pg.Client({ connectionString: url })
  // The server is removed with this connection if something fails.
  admin.on('error', () => undefined)
  await admin.connect()
  await createManyUsers(admin, tenantAppId, users)
  await addEventsAndJobs(url, users)
  await admin.query('VACUUM ANALYZE')
  await measureRequests({ url, key, admin, tenantAppId, users })
  await measureCommands(url)
  await measureIndexes(url, admin)
  await admin.end()
}

/** Changes each tenth user, so that triggers write events, and adds as many jobs. */
async function addEventsAndJobs(url, users) {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  const step = 100_000
  // In batches: the events of one transaction are read together.
  for (let first = 1; first <= users; first += step) {
    const tenth = `generate_series(${first}, ${Math.min(first + step - 1, users)}, 10) AS number`
    await session.query(`UPDATE "user" SET phone = '1' FROM ${tenth} WHERE id = 'usr_' || number`)
    await session.query(`
      INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
      SELECT id, 'job_' || number, 'growth', 3, now(), now() FROM tenant_app, ${tenth}`)
  }
  await session.end()
}

async function measureRequests({ url, key, admin, tenantAppId, users }) {
  const gateway = await startGateway({ DATABASE_URL: url, RATE_LIMIT: '0', RESPONSE_CACHE_MIB: '0' })
  const send = async (query, variables) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const body = JSON.stringify({ query, variables })
    const response = await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body })
    const { data, errors } = await response.json()
    return errors ? errors[0].extensions.code : data
  }
  const pages = 'query ($after: String) { users(first: 20, after: $after) { nodes { id name } } }'
  const found = 'query ($search: String) { users(first: 20, filter: { search: $search }) { nodes { id } } }'
  const requests = {
    'the first page': [pages],
    'page 1,000': [pages, { after: await cursorBefore(admin, tenantAppId, Math.min(1_000, users / pageSize)) }],
    'a search that finds one': [found, { search: 'zyxwvut' }],
    'a search that finds a quarter': [found, { search: 'grace' }],
    'a search that finds none': [found, { search: 'nobody has this' }],
    'the exact count': ['{ users(first: 1) { totalCount } }'],
    'the estimated count': ['{ users(first: 1) { totalCountEstimate } }'],
    'the statistics': ['{ userStats { count platforms { count } } }'],
    'a user is created': [
      'mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }',
    ],
    'a claim of a job': ['mutation { claimJobs(input: { jobTypes: ["growth"] }) { leases { leaseToken } } }'],
    'a page of events': ['{ events(first: 20) { nodes { id type } } }'],
  }
  for (const [title, [query, variables]] of Object.entries(requests)) {
    const times = []
    resetPeakMemory(gateway.child.pid)
    let failure
    // The first one is prepared.
    for (let round = -1; round < rounds && failure === undefined; round += 1) {
      const startedAt = performance.now()
      const data = await send(query, variables)
      if (typeof data === 'string') failure = data
      else if (Object.values(data).includes(null)) failure = JSON.stringify(data)
      else if (round >= 0) times.push(performance.now() - startedAt)
    }
    const longest = Math.max(...times).toFixed(0)
    note(title, failure ?? `${cell(median(times), peakMemory(gateway.child.pid))} (${longest} ms)`)
  }
  await gateway.stop('SIGKILL')
}

/** The cursor of the row before a page; undefined for the first page. */
async function cursorBefore(admin, tenantAppId, page) {
  const { rows } = await admin.query(
    'SELECT created_at, id FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id OFFSET $2 LIMIT 1',
    [tenantAppId, (page - 1) * pageSize - 1],
  )
  return Buffer.from(`${rows[0].created_at.getTime()} ${rows[0].id}`).toString('base64url')
}

async function measureCommands(url) {
  await fusionOn(url)('tenants', 'create', 'Copy')
  const file = path.join(folder, 'tenant.ndjson')
  note('an export', await measureCommand(url, ['export', '--tenant', 'Faults'], openSync(file, 'w')))
  note('an import of it', await measureCommand(url, ['import', '--tenant', 'Copy', file], 'ignore'))
  rmSync(file)
}

/** Runs a command, and reads its memory until it ends. */
async function measureCommand(url, args, stdout) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [path.join(projectRoot, 'src/cli.ts'), ...args], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', stdout, 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let peak = 0
  while (child.exitCode === null && child.signalCode === null) {
    peak = Math.max(peak, memoryOf(child.pid) || 0)
    await Promise.race([ended, sleep(50)])
  }
  if (child.exitCode !== 0) throw new Error(`fusion ${args.join(' ')} has ended with ${child.exitCode}`)
  return cell(performance.now() - startedAt, peak)
}

/** Builds each index of the users again, as migrations do: while others write. */
async function measureIndexes(url, admin) {
  const { rows } = await admin.query(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'user' ORDER BY 1`,
  )
  for (const { name, definition } of rows.filter((index) => index.name !== 'user_pkey')) {
    await admin.query(`DROP INDEX "${name}"`)
    // A session of its own, whose peak of memory is that of this index.
    const session = new pg.Client({ connectionString: url })
    await session.connect()
    const [{ pid }] = (await session.query('SELECT pg_backend_pid() AS pid')).rows
    const startedAt = performance.now()
    await session.query(definition.replace(' INDEX ', ' INDEX CONCURRENTLY '))
    const milliseconds = performance.now() - startedAt
    const [{ size }] = (await session.query('SELECT pg_size_pretty(pg_relation_size($1::regclass)) AS size', [name]))
      .rows
    note(`the index ${name}`, `${cell(milliseconds, peakMemory(pid))}, ${size}`)
    await session.end()
  }
}
