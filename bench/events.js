// Measures what the event log costs writes: the same database with its triggers and without them, in turn.
import { Agent, request } from 'node:http'
import pg from 'pg'
import { openDatabase } from '../src/database.ts'
import { createTenant } from '../src/domain/tenant/tenant.service.ts'
import { importFile } from '../src/transfer/import.ts'
import { startGateway } from '../test/support/cli.ts'
import { prepare } from '../test/support/gateway.ts'
import { locationOf } from '../test/support/settings.ts'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- events [--try] [--rounds N] [--seconds N] [--records N]

  --rounds   how often each is measured, with the log and without it (default: 7)
  --seconds  how long users are created, and changed (default: 3)
  --records  how many records are imported (default: 20000)
  DATABASE_URL names a PostgreSQL server, as a superuser. Without it one is started.
`
const options = readOptions(
  usage,
  { rounds: '7', seconds: '3', records: '20000' },
  { rounds: '1', seconds: '0.2', records: '200' },
)

const seconds = Number(options.seconds)
const clients = 16
const tables = ['"user"', 'account', 'profile', 'email_record', 'job']
const users = 20_000

const server = await openServer()
try {
  const url = await server.createDatabase()
  const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
  const admin = new pg.Client({ connectionString: url })
  // The server is removed with this connection if something fails.
  admin.on('error', () => undefined)
  await admin.connect()
  await admin.query(
    `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT $1, 'usr_' || number, 'Ada', 'a', now() FROM generate_series(1, ${users}) AS number`,
    [tenantAppId],
  )
  const gateway = await startGateway({ DATABASE_URL: url, RATE_LIMIT: '0' })
  const database = await openDatabase(locationOf(url))
  const agent = new Agent({ keepAlive: true, maxSockets: clients })

  const send = (query) =>
    new Promise((resolve, reject) => {
      const sent = request(`${gateway.address}/graphql`, {
        agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
      })
      sent.once('error', reject).once('response', async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        if (text.includes('"id"')) resolve()
        else reject(new Error(text))
      })
      sent.end(JSON.stringify({ query, variables: variables() }))
    })
  let number = 0
  const variables = () => {
    number += 1
    return { id: `usr_${1 + (number % users)}`, name: `Ada ${number}` }
  }

  /** Sends an operation for some seconds, and returns how often per second. */
  async function load(query) {
    const until = performance.now() + seconds * 1_000
    let sent = 0
    const client = async () => {
      for (; performance.now() < until; sent += 1) await send(query)
    }
    await Promise.all(Array.from({ length: clients }, client))
    return sent / seconds
  }

  /** Imports users with an account each into a new tenant, and returns how many records per second. */
  async function importRecords() {
    number += 1
    const { id } = await createTenant(database, `Import ${number}`)
    const count = Number(options.records) / 2
    async function* chunks() {
      for (let record = 0; record < count; record += 1) {
        const account = {
          id: `acc_${record}`,
          user_platform: 'YOUTUBE',
          platform_account_id: `c${record}`,
          display_name: 'Ada',
        }
        const times = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
        const user = {
          id: `usr_${record}`,
          ...times,
          name: 'Ada',
          email: 'ada@example.com',
          phone: null,
          accounts: [account],
        }
        yield Buffer.from(`${JSON.stringify(user)}\n`)
      }
    }
    const startedAt = performance.now()
    const onReject = ({ reason }) => {
      throw new Error(reason)
    }
    await importFile(database, { name: 'bench', chunks: chunks() }, { tenantAppId: id, onReject })
    return (2 * count) / ((performance.now() - startedAt) / 1_000)
  }

  /** Does some work while a client follows the events of the tenant. */
  async function followed(work) {
    const left = new AbortController()
    const { body } = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': key },
      body: JSON.stringify({ query: 'subscription { events { id } }' }),
      signal: left.signal,
    })
    const read = body.pipeTo(new WritableStream()).catch(() => undefined)
    const rate = await work()
    left.abort()
    await read
    return rate
  }

  const create = () =>
    load(
      'mutation ($name: String!) { createUser(input: { name: $name, email: "a@example.com", phone: "1" }) { user { id } } }',
    )
  const update = () =>
    load('mutation ($id: ID!, $name: String!) { updateUser(input: { id: $id, name: $name }) { user { id } } }')
  const cases = {
    'create a user': create,
    'update a user': update,
    'create a user, with a follower': () => followed(create),
    'update a user, with a follower': () => followed(update),
    'import records': importRecords,
  }
  const modes = ['ENABLE', 'DISABLE']
  process.stdout.write('| writes per second | with the log | without it | ratio |\n|---|---|---|---|\n')
  for (const [name, run] of Object.entries(cases)) {
    const rates = { ENABLE: [], DISABLE: [] }
    // The first round warms up.
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      for (const mode of round % 2 ? modes : modes.toReversed()) {
        for (const table of tables) await admin.query(`ALTER TABLE ${table} ${mode} TRIGGER USER`)
        const rate = await run()
        if (round > 0) rates[mode].push(rate)
      }
    }
    const ratio = median(rates.ENABLE.map((rate, index) => rate / rates.DISABLE[index]))
    const [on, off] = modes.map((mode) => Math.round(median(rates[mode])))
    process.stdout.write(`| ${name} | ${on} | ${off} | ${ratio.toFixed(2)} |\n`)
  }
  agent.destroy()
  await admin.end()
  await database.close()
  await gateway.stop('SIGKILL')
} finally {
  await server.remove()
}
