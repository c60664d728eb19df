// Measures what bulk writes save: 100 profiles by syncProfiles, and by 100 calls of syncProfile, in turn.
import { Agent, request } from 'node:http'
import pg from 'pg'
import { startGateway } from '../test/support/cli.ts'
import { prepare } from '../test/support/gateway.ts'
import { cpuOf } from './machine.js'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- bulk [--try] [--rounds N] [--batches N]

  --rounds   how often each is measured (default: 9)
  --batches  how many times 100 profiles are synchronized in a round, in each way (default: 20)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { rounds: '9', batches: '20' }, { rounds: '1', batches: '1' })

const batches = Number(options.batches)
const creators = 10_000
const size = 100
const clients = 16

const server = await openServer()
try {
  const url = await server.createDatabase()
  const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
  const admin = new pg.Client({ connectionString: url })
  // The server is removed with this connection if something fails.
  admin.on('error', () => undefined)
  await admin.connect()
  await admin.query(
    `WITH creator AS (SELECT generate_series(1, ${creators}) AS number), created AS (
      INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
      SELECT $1, 'usr_' || number, 'Ada', 'a', now() FROM creator RETURNING id)
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
    SELECT $1, 'acc_' || number, 'usr_' || number, 'YOUTUBE', 'c' || number, 'Ada', now() FROM creator`,
    [tenantAppId],
  )
  const gateway = await startGateway({ DATABASE_URL: url, RATE_LIMIT: '0' })
  const agent = new Agent({ keepAlive: true, maxSockets: clients })

  function send(query, variables) {
    const { promise, resolve, reject } = Promise.withResolvers()
    const sent = request(`${gateway.address}/graphql`, {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
    })
    sent.once('error', reject).once('response', async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      if (response.statusCode === 200 && !text.includes('"code"') && !text.includes('"errors"')) resolve()
      else reject(new Error(text))
    })
    sent.end(JSON.stringify({ query, variables }))
    return promise
  }

  let number = 0
  const inputs = () =>
    Array.from({ length: size }, () => {
      number += 1
      const creator = 1 + (number % creators)
      return {
        accountId: `acc_${creator}`,
        username: `creator${creator}`,
        fullName: `Creator ${creator}`,
        url: `https://youtube.example/creator${creator}`,
        description: 'Videos about mathematics, machines and poetry, every week.',
        category: 'Education',
        country: 'GB',
        followersCount: number,
        contentsCount: 100 + Math.floor(number / creators),
        verified: true,
        emails: [
          { value: `creator${creator}@example.com`, type: 'work', isPrimary: true },
          { value: `office${Math.floor(number / creators)}@example.com` },
        ],
      }
    })
  const payload = '{ profile { id } userErrors { code field } }'
  const modes = {
    syncProfiles: (batch) =>
      send(`mutation ($inputs: [SyncProfileInput!]!) { syncProfiles(inputs: $inputs) { results ${payload} } }`, {
        inputs: batch,
      }),
    async syncProfile(batch) {
      const waiting = batch.values()
      const client = async () => {
        for (const input of waiting) {
          await send(`mutation ($input: SyncProfileInput!) { syncProfile(input: $input) ${payload} }`, { input })
        }
      }
      await Promise.all(Array.from({ length: clients }, client))
    },
  }

  /** The CPU time of the gateway's connections: other databases of the server do not count. */
  async function cpuOfConnections() {
    const { rows } = await admin.query('SELECT pid FROM pg_stat_activity WHERE datname = current_database()')
    return rows.reduce((sum, { pid }) => sum + cpuOf(pid), 0)
  }

  const runs = { syncProfiles: [], syncProfile: [] }
  // The first two rounds warm up, and create the profiles.
  for (let round = -2; round < Number(options.rounds); round += 1) {
    const names = Object.keys(modes)
    if (round === 0) await admin.query('VACUUM ANALYZE')
    for (const name of round % 2 ? names : names.toReversed()) {
      const before = { gateway: cpuOf(gateway.child.pid), database: await cpuOfConnections(), at: performance.now() }
      for (let batch = 0; batch < batches; batch += 1) await modes[name](inputs())
      const run = {
        gateway: (cpuOf(gateway.child.pid) - before.gateway) / batches,
        database: ((await cpuOfConnections()) - before.database) / batches,
        milliseconds: (performance.now() - before.at) / batches,
      }
      if (round >= 0) runs[name].push(run)
    }
  }
  const both = ({ gateway: of, database }) => of + database
  const row = (title, read) =>
    `| ${title} | ${read('syncProfile')} | ${read('syncProfiles')} | ${median(
      runs.syncProfiles.map((run, index) => columns[title](run) / columns[title](runs.syncProfile[index])),
    ).toFixed(2)} |\n`
  const columns = {
    'CPU of the gateway, ms': (run) => run.gateway,
    'CPU of PostgreSQL, ms': (run) => run.database,
    'CPU of both, ms': both,
    'time, ms': (run) => run.milliseconds,
  }
  process.stdout.write('| 100 profiles | 100 syncProfile | one syncProfiles | ratio |\n|---|---|---|---|\n')
  for (const [title, read] of Object.entries(columns)) {
    process.stdout.write(row(title, (name) => median(runs[name].map(read)).toFixed(1)))
  }
  agent.destroy()
  await admin.end()
  await gateway.stop('SIGKILL')
} finally {
  await server.remove()
}
