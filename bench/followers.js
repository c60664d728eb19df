// Measures how soon the followers of one tenant receive an event after its commit, and the memory of the gateway.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startGateway } from '../test/support/cli.ts'
import { prepare } from '../test/support/gateway.ts'
import { peakMemory } from './machine.js'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- followers [--try] [--followers N] [--seconds N] [--pause MS]

  --followers  event streams of one tenant (default: 2000)
  --seconds    how long users are created (default: 20)
  --pause      between two users (default: 500)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(
  usage,
  { followers: '2000', seconds: '20', pause: '500' },
  { followers: '20', seconds: '0.5', pause: '100' },
)

const count = Number(options.followers)
const server = await openServer()
try {
  const url = await server.createDatabase()
  const { tenantAppId, key } = await prepare({ url, ownerUrl: url })
  const gateway = await startGateway({
    DATABASE_URL: url,
    RATE_LIMIT: '0',
    // A key may have a fifth as many subscriptions.
    MAX_IN_FLIGHT: String(5 * count),
  })
  const idle = Math.round(peakMemory(gateway.child.pid))
  /** By the id of a user: when the transaction had been committed. */
  const committed = new Map()
  const received = []
  const agent = new Agent({ keepAlive: true })
  const streams = []
  const body = JSON.stringify({ query: 'subscription { events { id type resourceId } }' })
  for (let number = 0; number < count; number += 1) {
    const sent = request(`${gateway.address}/graphql`, {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': key },
    })
    sent.end(body)
    const [response] = await once(sent, 'response')
    if (response.statusCode !== 200) throw new Error(`The gateway refused follower ${number}: ${response.statusCode}`)
    response.setEncoding('utf8').on('data', (text) => {
      const at = performance.now()
      for (const [, id] of text.matchAll(/"resourceId":"(usr_\d+)"/g)) received.push([id, at])
    })
    streams.push(sent)
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const until = performance.now() + Number(options.seconds) * 1_000
  for (let number = 0; performance.now() < until; number += 1) {
    const id = `usr_${number}`
    await client.query(
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'Ada', 'a', now())`,
      [tenantAppId, id],
    )
    committed.set(id, performance.now())
    await sleep(Number(options.pause))
  }
  await client.end()
  const expected = committed.size * count
  for (let waited = 0; received.length < expected && waited < 30_000; waited += 100) await sleep(100)
  const times = received.map(([id, at]) => at - committed.get(id)).sort((one, other) => one - other)
  const quantile = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))])
  process.stdout.write(
    `${count} followers, ${committed.size} events, ${received.length} of ${expected} received. ` +
      `From the commit: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, max ${quantile(1)} ms. ` +
      `Memory: ${idle} MiB before, at most ${Math.round(peakMemory(gateway.child.pid))} MiB.\n`,
  )
  for (const stream of streams) stream.destroy()
  await gateway.stop('SIGKILL')
} finally {
  await server.remove()
}
