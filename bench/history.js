// Measures what a year of histories with weekly changes takes on the disk, and the time of a curve, by the number of
// profiles.
import pg from 'pg'
import { listen, prepare } from '../test/support/gateway.ts'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- history [--profiles N,N] [--rounds N]

  --profiles  how many profiles the tenant has (default: 100000,1000000)
  --rounds    how often each query is sent (default: 15)
  DATABASE_URL names a PostgreSQL server, as a superuser. Without it one is started. A million profiles need 20 GB.
`
const options = readOptions(usage, { profiles: '100000,1000000', rounds: '15' }, { profiles: '100', rounds: '1' })
const weeks = 52

const year = `history(metric: FOLLOWERS, from: "${new Date(Date.now() - 364 * 86_400_000).toISOString()}") { at value change }`
const curves = {
  'a year of one': `query ($id: ID!) { profile(id: $id) { ${year} } }`,
  '90 days of 60':
    '{ users(first: 60) { nodes { accounts { profile { history(metric: FOLLOWERS) { at value change } } } } } }',
  'growth of 60': '{ users(first: 60) { nodes { accounts { profile { growth(metric: FOLLOWERS) } } } } }',
}

const server = await openServer()
const rows = []
try {
  for (const profiles of options.profiles.split(',').map(Number)) {
    const url = await server.createDatabase()
    const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
    const admin = new pg.Client({ connectionString: url })
    // The server is removed with this connection if something fails.
    admin.on('error', () => undefined)
    await admin.connect()
    await createHistories(admin, tenantAppId, profiles)
    const { rows: sizes } = await admin.query(
      `SELECT pg_table_size('profile_metric')::float8 AS rows, pg_indexes_size('profile_metric')::float8 AS indexes`,
    )
    const gateway = await listen(url)
    const times = []
    for (const query of Object.values(curves)) times.push(await measure(gateway, key, query))
    const mebibytes = (bytes) => `${(bytes / 2 ** 20).toLocaleString('en', { maximumFractionDigits: 0 })} MiB`
    const [{ rows: ofRows, indexes }] = sizes
    rows.push(
      `| ${profiles.toLocaleString('en')} | ${(profiles * weeks).toLocaleString('en')} | ${mebibytes(ofRows)} | ${mebibytes(indexes)} | ${times.join(' | ')} |`,
    )
    await gateway.close()
    await admin.end()
  }
} finally {
  await server.remove()
}
process.stdout.write(
  [
    `Milliseconds of a query, medians of ${options.rounds} rounds and the longest.`,
    '',
    `| profiles | rows | size | indexes | ${Object.keys(curves).join(' | ')} |`,
    `|---|---|---|---|${'---|'.repeat(Object.keys(curves).length)}`,
    ...rows,
    '',
  ].join('\n'),
)

/** A user with an account and a profile each, and a row for each week of the last year, as a weekly job writes them. */
async function createHistories(admin, tenantAppId, profiles) {
  const numbers = `FROM generate_series(1, ${profiles}) AS number`
  await admin.query('SET session_replication_role = replica')
  await admin.query(`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT '${tenantAppId}', 'usr_' || number, 'Ada', 'ada@example.com', now() ${numbers}`)
  await admin.query(`
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
    SELECT '${tenantAppId}', 'acc_' || number, 'usr_' || number, 'X', number::text, 'Ada', now() ${numbers}`)
  // Ids have the length of those that the gateway creates.
  await admin.query(`
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, followers_count, updated_at)
    SELECT '${tenantAppId}', 'prf_' || lpad(number::text, 36, '0'), 'acc_' || number, 'X', number::text, number, now() ${numbers}`)
  for (let week = weeks; week > 0; week -= 1) {
    await admin.query(`
      INSERT INTO profile_metric (tenant_app_id, profile_id, day, followers_count, following_count, contents_count, watch_time_in_hours)
      SELECT '${tenantAppId}', 'prf_' || lpad(number::text, 36, '0'), (now() AT TIME ZONE 'UTC')::date - 7 * ${week}, number * ${week}, number, ${week}, ${week} / 3.0
      ${numbers}`)
  }
  await admin.query('VACUUM ANALYZE')
}

async function measure({ app }, key, query) {
  const times = []
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const startedAt = performance.now()
    const payload = { query, variables: { id: `prf_${String(round + 1).padStart(36, '0')}` } }
    const response = await app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload })
    const { errors } = response.json()
    if (errors) throw new Error(errors[0].message)
    times.push(performance.now() - startedAt)
  }
  return `${median(times).toFixed(1)} (${Math.max(...times).toFixed(1)})`
}
