// Measures live queries: how soon results arrive after a commit, and what they cost, compared with polling each second.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { inspectorOptions, usedHeap } from '../test/soak/heap.ts'
import { startGateway } from '../test/support/cli.ts'
import { prepare } from '../test/support/gateway.ts'
import { cpuOf, cpuOfPostgresql, memoryOf } from './machine.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- live [--try] [--followers N] [--seconds N]

  --followers  clients that follow (default: 2000)
  --seconds    how long each case is measured (default: 20)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { followers: '2000', seconds: '20' }, { followers: '20', seconds: '1' })
const followers = Number(options.followers)
const seconds = Number(options.seconds)

const tree = 'id name accounts { displayName profile { username followersCount } }'
const samePage = () => ({ query: `query @live { users(first: 20) { nodes { ${tree} } } }` })
const ownPage = (number) => ({
  query: `query ($id: ID!) @live { user(id: $id) { ${tree} } }`,
  variables: { id: `usr_${number}` },
})

/** Inserts as many users as clients, each with two accounts and profiles. */
async function createRows(client, tenantAppId) {
  const rows = `FROM generate_series(0, ${followers - 1}) AS number`
  const accounts = `${rows}, unnest('{YOUTUBE,X}'::text[]) AS platform`
  await client.query(
    `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) SELECT $1, 'usr_' || number, 'Name', 'a', now() ${rows}`,
    [tenantAppId],
  )
  await client.query(
    `INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
      SELECT $1, 'acc_' || number || platform, 'usr_' || number, platform, number, 'Channel ' || number, now() ${accounts}`,
    [tenantAppId],
  )
  await client.query(
    `INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, username, followers_count, updated_at)
      SELECT $1, 'pro_' || number || platform, 'acc_' || number || platform, platform, number, 'name' || number, number, now() ${accounts}`,
    [tenantAppId],
  )
  await client.query('ANALYZE')
}

/** Follows a query. Calls back with each message, and when it arrived. */
async function follow(address, key, body, onMessage) {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': key }
  const sent = request(`${address}/graphql`, { agent: new Agent(), method: 'POST', headers })
  sent.end(JSON.stringify(body))
  const [response] = await once(sent, 'response')
  if (response.statusCode !== 200) throw new Error(`The gateway refused a follower: ${response.statusCode}`)
  response.setEncoding('utf8').on('data', (text) => onMessage(text, performance.now()))
  sent.on('error', () => undefined)
  return sent
}

/** The number of the next change. Each change of a run has another one. */
let next = 0

/** Names users with the numbers of changes, so many each second. Returns when each was committed, by its number. */
async function change(client, tenantAppId, perSecond, idOf) {
  const committed = new Map()
  const startedAt = performance.now()
  for (let number = 0; number < perSecond * seconds; number += 1) {
    await sleep(Math.max(0, startedAt + (number * 1_000) / perSecond - performance.now()))
    next += 1
    await client.query('UPDATE "user" SET name = $3, updated_at = now() WHERE tenant_app_id = $1 AND id = $2', [
      tenantAppId,
      idOf(number),
      `Change ${next}.`,
    ])
    committed.set(next, performance.now())
  }
  return committed
}

const quantile = (values, share) =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN

/** Measures a case: the CPU in milliseconds for each second, and how long changes took to arrive. */
async function measure({ client, tenantAppId, pid }, { perSecond, idOf, arrived = () => [] }) {
  const before = { gateway: cpuOf(pid), database: cpuOfPostgresql(), at: performance.now() }
  const committed = await change(client, tenantAppId, perSecond, idOf)
  await sleep(1_000)
  const elapsed = (performance.now() - before.at) / 1_000
  const waits = arrived(committed)
  return {
    gateway: (cpuOf(pid) - before.gateway) / elapsed,
    database: (cpuOfPostgresql() - before.database) / elapsed,
    waits,
  }
}

function row(title, { gateway, database, waits }) {
  const numbers = [gateway, database, quantile(waits, 0.5), quantile(waits, 0.99)]
  process.stdout.write(
    `| ${title} | ${numbers.map((value) => (Number.isNaN(value) ? '–' : Math.round(value))).join(' | ')} |\n`,
  )
}

/** The resident memory of a gateway in MiB: as it is, and after its garbage was collected. */
async function memoryOfGateway({ child, output }) {
  const used = memoryOf(child.pid)
  await usedHeap(output())
  return { used, kept: memoryOf(child.pid) }
}

/** Follows with several clients, and measures how long each change takes to arrive at each of them. */
async function measureFollowers(gateway, run, count, queryOf, changes) {
  const idle = await memoryOfGateway(gateway)
  const streams = []
  /** Of each client, the changes that it has seen, and when. */
  const seen = Array.from({ length: count }, () => new Map())
  for (let number = 0; number < count; number += 1) {
    const onMessage = (text, at) => {
      for (const [, shown] of text.matchAll(/Change (\d+)\./g))
        if (!seen[number].has(+shown)) seen[number].set(+shown, at)
    }
    streams.push(await follow(gateway.address, run.key, queryOf(number), onMessage))
  }
  await sleep(1_000)
  const withFollowers = await memoryOfGateway(gateway)
  const each = (name) => Math.round(((withFollowers[name] - idle[name]) * 1_024) / count)
  const memory = { kept: each('kept'), used: each('used') }
  const arrived = (committed) =>
    seen.flatMap((changes) =>
      [...changes].flatMap(([number, at]) => (committed.has(number) ? [at - committed.get(number)] : [])),
    )
  const measured = await measure(run, { ...changes, arrived })
  for (const stream of streams) stream.destroy()
  await sleep(1_000)
  return { ...measured, memory }
}

/** Polls by hand, as engines without a log do: each second, the pages of a hundred clients with one statement. */
async function measurePolling(run, url, changes) {
  const poller = fork(fileURLToPath(new URL('poll.js', import.meta.url)), [url, run.tenantAppId, String(followers)])
  await once(poller, 'message')
  const measured = await measure({ ...run, pid: poller.pid }, changes)
  poller.kill()
  return measured
}

const server = await openServer()
try {
  const url = await server.createDatabase()
  const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await createRows(client, tenantAppId)
  // A key may have a fifth as many subscriptions.
  const gateway = await startGateway({
    DATABASE_URL: url,
    RATE_LIMIT: '0',
    MAX_IN_FLIGHT: String(10 * followers),
    NODE_OPTIONS: inspectorOptions,
  })
  const run = { client, tenantAppId, key, pid: gateway.child.pid }
  const ofPage = { perSecond: 20, idOf: (number) => `usr_${number % 20}` }
  const onePercent = { perSecond: Math.ceil(followers / 100), idOf: (number) => `usr_${(number * 7) % followers}` }
  process.stdout.write(
    '| case | gateway or poller: CPU ms a second | PostgreSQL: CPU ms a second | p50 ms | p99 ms |\n|---|---|---|---|---|\n',
  )
  row('nobody follows, 20 changes a second', await measure(run, ofPage))
  row('1 follower of a page of 20 users', await measureFollowers(gateway, run, 1, samePage, ofPage))
  const many = await measureFollowers(gateway, run, followers, samePage, ofPage)
  row(`${followers} followers of the same page`, many)
  row(`nobody follows, ${onePercent.perSecond} changes a second`, await measure(run, onePercent))
  const own = await measureFollowers(gateway, run, followers, ownPage, onePercent)
  row(`${followers} followers of different pages`, own)
  row(`${followers} different pages, polled by hand`, await measurePolling(run, url, onePercent))
  process.stdout.write(
    `Memory of a follower: ${many.memory.kept} KiB of the same page, ${own.memory.kept} KiB of different pages.\n` +
      `Of the first ones, before garbage was collected: ${many.memory.used} KiB.\n`,
  )
  await client.end()
  await gateway.stop('SIGKILL')
} finally {
  await server.remove()
}
