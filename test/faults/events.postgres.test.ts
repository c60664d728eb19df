import { type RateLimit, unlimited } from '@fusion-gateway/limits'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type EventStream, subscribe } from '../support/events.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { isRedisRunning, redisPort } from '../support/redis.ts'
import { completion, transports } from '../support/transports.ts'

let cluster: Cluster
let tenantAppId: string
let key: string
const opened: { close(): unknown }[] = []

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  ;({ tenantAppId, key } = await prepare(cluster))
})
afterEach(async () => {
  for (const { close } of opened.splice(0).reverse()) await close()
})
afterAll(() => cluster?.remove())

/** Closes something after the test. */
function closing<Opened extends { close(): unknown }>(it: Opened): Opened {
  opened.push(it)
  return it
}

const query =
  'subscription ($after: ID) { events(after: $after) { id resourceId createdAt node { ... on User { name } } } }'

interface Event {
  readonly id: string
  readonly resourceId: string
  readonly createdAt: string
  readonly node: { readonly name: string } | null
}

const follow = async (address: string, after: string | null = null) =>
  closing(await subscribe(address, key, query, { after }))

async function nextOf(stream: EventStream): Promise<Event> {
  const sent = await stream.next()
  const event = sent?.data?.data?.['events']
  if (!event) throw new Error(`The stream has ended: ${JSON.stringify(sent)}`)
  return event as Event
}

/** The next `count` events. */
async function read(stream: EventStream, count: number): Promise<Event[]> {
  const events: Event[] = []
  while (events.length < count) events.push(await nextOf(stream))
  return events
}

async function sql(server: Cluster, text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.adminUrl })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text, [...values])).rows
  } finally {
    await client.end()
  }
}

/** Inserts a user with the SQL of another program. */
const insert = async (server: Cluster, id: string) => {
  await sql(
    server,
    `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'Ada', 'a', now())`,
    [tenantAppId, id],
  )
  return id
}

/** Starts a gateway that reaches the server through a proxy. */
async function listenThroughProxy(
  options: Parameters<typeof listen>[1] = {},
): Promise<{ proxy: TcpProxy; gateway: ListeningGateway }> {
  const proxy = closing(await startProxy(Number(new URL(cluster.url).port)))
  const url = new URL(cluster.url)
  url.port = String(proxy.port)
  return { proxy, gateway: closing(await listen(url.href, options)) }
}

const idsOf = (events: readonly Event[]) => events.map(({ resourceId }) => resourceId)

describe.skipIf(!canCreateClusters)('a follower of the event log', () => {
  it('receives each event once when the server crashes and when it fails over', async () => {
    const { proxy, gateway } = await listenThroughProxy()
    const stream = await follow(gateway.address)
    const written = [await insert(cluster, 'usr_before')]
    await cluster.stop('immediate')
    await cluster.start()
    for (const id of ['usr_restart_1', 'usr_restart_2']) written.push(await insert(cluster, id))
    expect(idsOf(await read(stream, 3))).toEqual(written)

    const standby = await cluster.createReplica()
    opened.push({ close: () => standby.remove() })
    written.push(await insert(cluster, 'usr_primary'))
    const [{ position } = {}] = await sql(cluster, 'SELECT pg_current_wal_lsn()::text AS position')
    const isReplayed = async () =>
      (await sql(standby, 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done', [position]))[0]?.['done']
    while (!(await isReplayed()));
    await cluster.stop('immediate')
    await sql(standby, 'SELECT pg_promote(true, 60)')
    proxy.retarget(Number(new URL(standby.url).port))
    proxy.reset()
    proxy.restore()
    for (const id of ['usr_promoted_1', 'usr_promoted_2']) written.push(await insert(standby, id))
    expect(idsOf(await read(stream, 3))).toEqual(written.slice(3))

    // A follower that continues after the first event receives the others, from the new primary.
    const [first] = await sql(standby, `SELECT id FROM event WHERE resource_id = 'usr_before'`)
    const other = await follow(gateway.address, String(first?.['id']))
    expect(idsOf(await read(other, 5))).toEqual(written.slice(1))
    await cluster.start()
  })

  it('is not ended by a database that stops: it breaks off, and its client misses nothing', async () => {
    const { proxy, gateway } = await listenThroughProxy()
    const live = await follow(gateway.address)
    await insert(cluster, 'usr_known')
    const { id: after } = await nextOf(live)
    live.close()
    await sql(
      cluster,
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
      SELECT $1, 'usr_missed_' || number, 'Ada', 'a', now() FROM generate_series(1, 10000) AS number`,
      [tenantAppId],
    )
    const expected = await sql(cluster, 'SELECT id FROM event WHERE tenant_app_id = $1 AND id > $2 ORDER BY id', [
      tenantAppId,
      after,
    ])
    const ids = 'subscription ($after: ID) { events(after: $after) { id } }'
    const ends: string[] = []
    for (const start of Object.values(transports)) {
      const { until, ending } = await start(gateway.address, key, ids, { after })
      await until('evt_')
      // It still reads pages of the log.
      proxy.cut()
      const { text, end } = await ending
      ends.push(end)
      expect(text).not.toMatch(completion)
      // Not the position in the first message.
      const seen = text.match(/(?<="id":")evt_[0-9a-f]{24}/g) ?? []
      expect(seen).toEqual(expected.slice(0, seen.length).map(({ id }) => id))
      proxy.restore()
      let stream = await follow(gateway.address, seen.at(-1))
      while (stream.status === 503) stream = await follow(gateway.address, seen.at(-1))
      expect((await nextOf(stream)).id).toBe(expected[seen.length]?.['id'])
      stream.close()
    }
    expect(ends).toEqual(['200 text/event-stream, broken off', '200 multipart/mixed, broken off', '1001'])
  })

  it.each(Object.entries(transports))(
    'that is a live query breaks off over %s when it cannot be read',
    async (_, start) => {
      let isGated = false
      const asked = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      const reserve: RateLimit['reserve'] = async (...request) => {
        if (isGated) asked.resolve()
        if (isGated) await gate.promise
        return unlimited.reserve(...request)
      }
      const { proxy, gateway } = await listenThroughProxy({ rateLimit: { ...unlimited, reserve } })
      const list = 'query @live { users(first: 1, orderBy: { field: CREATED_AT, direction: DESC }) { nodes { id } } }'
      const { until, ending } = await start(gateway.address, key, list)
      await until('"nodes"')
      isGated = true
      const id = `usr_unread_${performance.now()}`
      await insert(cluster, id)
      await asked.promise
      proxy.cut()
      gate.resolve()
      const { text, end } = await ending
      expect(end).toMatch(/broken off|1001/)
      expect(text).not.toMatch(completion)
      expect(text).not.toContain(id)
    },
  )

  it('receives events with the present state of their objects while the replica lags', async () => {
    const replica = await cluster.createReplica()
    opened.push({ close: () => replica.remove() })
    let isUsable = () => {}
    const used = new Promise<void>((resolve) => {
      isUsable = resolve
    })
    const gateway = closing(
      await listen(cluster.url, {
        replicas: { urls: [replica.url], lagMilliseconds: 600_000 },
        onReplica: (_name, state) => state && isUsable(),
      }),
    )
    await used
    const stream = await follow(gateway.address)
    await sql(replica, 'SELECT pg_wal_replay_pause()')
    const id = await insert(cluster, 'usr_lagging')
    expect(await nextOf(stream)).toMatchObject({ resourceId: id, node: { name: 'Ada' } })
    await sql(replica, 'SELECT pg_wal_replay_resume()')
  })

  it('receives 100,000 events that it has missed, in the order of the log', async () => {
    const gateway = closing(await listen(cluster.url))
    const live = await follow(gateway.address)
    await insert(cluster, 'usr_last_seen')
    const { id: after } = await nextOf(live)
    live.close()
    await sql(
      cluster,
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
      SELECT $1, 'usr_many_' || number, 'Ada', 'a', now() FROM generate_series(1, 100000) AS number`,
      [tenantAppId],
    )
    const expected = await sql(cluster, 'SELECT id FROM event WHERE tenant_app_id = $1 AND id > $2 ORDER BY id', [
      tenantAppId,
      after,
    ])
    const ids = 'subscription ($after: ID) { events(after: $after) { id } }'
    const stream = closing(await subscribe(gateway.address, key, ids, { after }))
    const received: string[] = []
    while (received.length < expected.length) received.push((await nextOf(stream)).id)
    expect(received).toEqual(expected.map(({ id }) => id))
    const reads = gateway.statements.filter((text) => /FROM event WHERE .* LIMIT/s.test(text))
    expect(reads.length).toBeLessThanOrEqual(100_000 / 500 + 5)
  })

  it.skipIf(!isRedisRunning)('receives events while Redis is away', async () => {
    const proxy = closing(await startProxy(redisPort))
    const gateway = await start({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` })
    const stream = await follow(gateway.address)
    proxy.cut()
    expect((await nextAfterInsert(stream, 'usr_redis')).node).toEqual({ name: 'Ada' })
  })

  it('receives events in the order of the log whatever time the gateways have', async () => {
    const gateways = await Promise.all([-3_600_000, 3_600_000].map(startWithClock))
    const [behind, ahead] = gateways.map(({ address }) => address) as [string, string]
    const streams = await Promise.all([behind, ahead].map((address) => follow(address)))
    const create = `mutation { createUser(input: { name: "Ada", email: "a@example.com", phone: "1" }) { user { id } } }`
    const written: string[] = []
    for (let count = 0; count < 6; count += 1) {
      const response = await fetch(`${count % 2 ? behind : ahead}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify({ query: create }),
      })
      const { data } = (await response.json()) as { data: { createUser: { user: { id: string } } } }
      written.push(data.createUser.user.id)
    }
    for (const stream of streams) {
      const events = await read(stream, written.length)
      expect(idsOf(events)).toEqual(written)
      // The database's time, not that of a gateway.
      for (const { createdAt } of events) expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(1_800_000)
    }
  })
})

async function start(env: Record<string, string>): Promise<RunningGateway> {
  const gateway = await startGateway({ DATABASE_URL: cluster.url, ...env })
  opened.push({ close: () => gateway.stop() })
  return gateway
}

/** Starts a gateway whose clock differs from that of this machine. */
function startWithClock(milliseconds: number): Promise<RunningGateway> {
  const shift = `const { now } = Date
    globalThis.Date = class extends Date { constructor(...given) { super(...(given.length > 0 ? given : [now() + ${milliseconds}])) } }
    Date.now = () => now() + ${milliseconds}`
  return start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` })
}

async function nextAfterInsert(stream: EventStream, id: string): Promise<Event> {
  await insert(cluster, id)
  for (;;) {
    const event = await nextOf(stream)
    if (event.resourceId === id) return event
  }
}
