// Measures the work for all tenants: claims of workers, numbers of jobs and expired leases. Claims and numbers are
// measured in the form of one server and in that of a database whose tenants are on several servers, in turn.

import { createMetrics } from '@fusion-gateway/telemetry'
import pg from 'pg'
import { openDatabase } from '../src/database.ts'
import { countJobs } from '../src/domain/job/store/job-counts.ts'
import { createJobStore } from '../src/domain/job/store/job-store.ts'
import { leaseLost } from '../src/server/start-work.ts'
import { prepare } from '../test/support/gateway.ts'
import { locationOf } from '../test/support/settings.ts'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- tenants [--try] [--tenants N,N] [--rounds N]

  --tenants  with how many tenants (default: 1000,10000)
  --rounds   how often each is measured (default: 21)
  DATABASE_URL names a PostgreSQL server, as a superuser. Without it one is started.
`
const options = readOptions(usage, { tenants: '1000,10000', rounds: '21' }, { tenants: '100', rounds: '1' })
const jobTypes = ['fetch_content', 'send_email']
const leaseSeconds = 60

const insertTenants = `INSERT INTO tenant_app (id, name, updated_at)
  SELECT 'app_' || to_char(number, 'FM00000'), 'Tenant ' || number, now() FROM generate_series(1, $1::integer) AS number`
// Half of them are due in an hour.
const insertJobs = `INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
  SELECT tenant_app.id, 'job_' || type || number, type, 3, now() + make_interval(hours => number % 2 * 2 - 1), now()
  FROM tenant_app, unnest($1::text[]) AS type, generate_series(1, 10) AS number`
const expire = `UPDATE job SET lease_expires_at = now() - interval '1 second' WHERE status = 'RUNNING'`

const server = await openServer()
const rows = []
try {
  for (const tenants of options.tenants.split(',').map(Number)) {
    const url = await server.createDatabase()
    await prepare({ url, ownerUrl: url })
    const admin = new pg.Client({ connectionString: url })
    // The server is removed with this connection if something fails.
    admin.on('error', () => undefined)
    await admin.connect()
    await admin.query(insertTenants, [tenants])
    await admin.query(insertJobs, [jobTypes])
    await admin.query('VACUUM ANALYZE')
    const database = await openDatabase(locationOf(url))
    const driver = { ...database.driver, isDistributed: () => true }
    const one = storeOf(database)
    const several = storeOf({ ...database, driver })

    const lastServed = new Map()
    const claim = async (store, limit) => {
      const claimed = await store.claimOfAllTenants({ jobTypes, limit, leaseSeconds, lastServed })
      if (claimed.length !== limit) throw new Error(`claimed ${claimed.length} of ${limit} jobs`)
      for (const { jobType, tenantAppId } of claimed) lastServed.set(jobType, tenantAppId)
    }
    for (const limit of [1, 10, 100]) {
      const title = `claim ${limit} ${limit === 1 ? 'job' : 'jobs'}`
      rows.push(row(title, tenants, ...(await inTurn([one, several], (store) => claim(store, limit)))))
    }
    rows.push(row('numbers of jobs', tenants, ...(await inTurn([database, { ...database, driver }], countJobs))))
    const [idle] = await inTurn([one], (store) => store.failExpired(leaseLost))
    rows.push(row('look for expired leases', tenants, idle))
    const { rowCount } = await admin.query(expire)
    const startedAt = performance.now()
    const failed = await one.failExpired(leaseLost)
    rows.push(row(`fail ${failed} of ${rowCount} expired leases`, tenants, performance.now() - startedAt))
    await database.close()
    await admin.end()
  }
} finally {
  await server.remove()
}
process.stdout.write(
  [
    `Milliseconds, medians of ${options.rounds} rounds.`,
    '',
    '| | tenants | one server | several servers | ratio |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n'),
)

function storeOf(database) {
  const backoff = { delaySeconds: 1, maxDelaySeconds: 1 }
  return createJobStore(database, { backoff, metrics: createMetrics() })
}

/** Measures work with each store in turn. Returns the median of each, in milliseconds. */
async function inTurn(stores, work) {
  const times = stores.map(() => [])
  for (let round = -3; round < Number(options.rounds); round += 1) {
    for (const [index, store] of stores.entries()) {
      const startedAt = performance.now()
      await work(store)
      if (round >= 0) times[index].push(performance.now() - startedAt)
    }
  }
  return times.map(median)
}

function row(title, tenants, one, several) {
  const shown = (milliseconds) => (milliseconds === undefined ? '' : milliseconds.toFixed(1))
  const ratio = several === undefined ? '' : (several / one).toFixed(2)
  return `| ${title} | ${tenants} | ${shown(one)} | ${shown(several)} | ${ratio} |`
}
