import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { canCreateClusters, createCluster } from '../support/cluster.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { listen, prepare } from '../support/gateway.ts'

// Clients that read a query and follow the log from its position, while transactions begin, write and end in any order.

let app: TestApp
let tenant: TestTenant
beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const insertUser = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'A', 'a', now())`

async function connect(connectionString: string | undefined): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  onTestFinished(() => client.end().catch(() => undefined))
  return client
}

interface Reading {
  readonly seen: ReadonlySet<string>
  readonly position: string
}

async function read(): Promise<Reading> {
  const response = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key, 'x-position': 'yes' },
    payload: { query: '{ users(first: 500) { nodes { id } } }' },
  })
  const { data, extensions } = response.json()
  return { seen: new Set(data.users.nodes.map(({ id }: { id: string }) => id)), position: extensions.position }
}

async function pagesAfter(position: string, first: number): Promise<string[]> {
  const query =
    'query ($after: String, $first: Int) { events(after: $after, first: $first) { nodes { id resourceId } } }'
  const found: string[] = []
  for (let after = position; ; ) {
    type Page = { readonly events: { readonly nodes: readonly { id: string; resourceId: string }[] } }
    const { data } = await app.graphql<Page>(tenant, query, { after, first })
    const { nodes } = data.events
    found.push(...nodes.map(({ resourceId }) => resourceId))
    if (nodes.length < first) return found
    after = nodes.at(-1)?.id ?? ''
  }
}

/** What a subscription sends after a position, until it sends a user. */
async function streamAfter(position: string, until: string): Promise<string[]> {
  const query = 'subscription ($after: ID) { events(after: $after) { resourceId } }'
  const stream = await subscribe(await addressOf(app), tenant.key, query, { after: position })
  const found: string[] = []
  for (;;) {
    const event = await stream.next()
    const { resourceId } = (event?.data?.data?.['events'] ?? {}) as { resourceId?: string }
    if (resourceId === undefined || resourceId === until) break
    found.push(resourceId)
  }
  stream.close()
  return found
}

/** Numbers that look random, and are the same for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('a client that reads and follows', () => {
  it.each([1, 2, 3])(
    'misses and repeats nothing while transactions end in another order than they begin in (%i)',
    async (seed) => {
      const random = createRandom(seed)
      const writers = await Promise.all(
        Array.from({ length: 8 }, async () => ({
          client: await connect(app.database.url),
          open: undefined as string[] | undefined,
        })),
      )
      const committed = new Set((await read()).seen)
      const readings: (Reading & { readonly committed: ReadonlySet<string> })[] = []
      for (let step = 0; step < 150; step += 1) {
        if (random(5) === 0) {
          const before = new Set(committed)
          readings.push({ ...(await read()), committed: before })
        }
        const writer = writers[random(writers.length)] as (typeof writers)[number]
        const { client, open } = writer
        const id = `usr_${seed}_${step}`
        if (!open) {
          await client.query('BEGIN')
          writer.open = []
        }
        const end = open && random(4)
        if (end === 0) {
          await client.query('COMMIT')
          for (const written of open ?? []) committed.add(written)
          writer.open = undefined
        } else if (end === 1 && random(3) === 0) {
          await client.query('ROLLBACK')
          writer.open = undefined
        } else {
          await client.query(insertUser, [tenant.tenantAppId, id])
          writer.open?.push(id)
        }
      }
      for (const { client, open } of writers) {
        if (open) await client.query('COMMIT')
        for (const written of open ?? []) committed.add(written)
      }
      const last = `usr_${seed}_last`
      await (writers[0] as (typeof writers)[number]).client.query(insertUser, [tenant.tenantAppId, last])
      await settleEvents(app)
      expect(readings.length).toBeGreaterThan(15)
      // Some transactions ran, and others had ended after them.
      expect(readings.some(({ position }) => position.includes('~'))).toBe(true)
      for (const [index, { seen, position, committed: before }] of readings.entries()) {
        expect(seen).toEqual(before)
        const unseen = [...committed].filter((id) => !seen.has(id))
        const page = await pagesAfter(position, 500)
        expect(page.toSorted()).toEqual([...unseen, last].toSorted())
        if (index % 3 === 0) expect([...(await streamAfter(position, last)), last]).toEqual(page)
        // Pages after the first one begin after an event: those that were seen can be among them, and none is missed.
        if (index % 8 === 0) expect(await pagesAfter(position, 3)).toEqual(expect.arrayContaining(page))
      }
      await app.database.runAsOwner(`DELETE FROM "user" WHERE id LIKE 'usr_${seed}_%'`)
    },
    60_000,
  )

  it('continues after another position when events are written while it reads', async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect(app.database.url)))
    let isReading = true
    const written: string[] = []
    const writing = clients.map(async (client, number) => {
      for (let count = 0; isReading || count < 5; count += 1) {
        const id = `usr_busy_${number}_${count}`
        await client.query('BEGIN')
        await client.query(insertUser, [tenant.tenantAppId, id])
        await client.query('COMMIT')
        written.push(id)
        if (written.length > 400) return
      }
    })
    const readings: (Reading & { readonly before: readonly string[] })[] = []
    while (readings.length < 20 && written.length < 350) {
      const before = [...written]
      readings.push({ ...(await read()), before })
    }
    isReading = false
    await Promise.all(writing)
    await settleEvents(app)
    for (const { seen, position, before } of readings) {
      const followed = await pagesAfter(position, 500)
      expect([...seen, ...followed]).toEqual(expect.arrayContaining(written))
      // Only what was committed while it was read can be repeated.
      const acknowledged = new Set(before)
      expect(followed.filter((id) => acknowledged.has(id))).toEqual([])
    }
    await app.database.runAsOwner(`DELETE FROM "user" WHERE id LIKE 'usr_busy_%'`)
  })

  it('gets the events of a transaction that was open for long, and not those that it has seen meanwhile', async () => {
    const [slow, quick] = [await connect(app.database.url), await connect(app.database.url)]
    await slow.query('BEGIN')
    await slow.query(insertUser, [tenant.tenantAppId, 'usr_slow_1'])
    await quick.query(
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
      SELECT $1, 'usr_quick_' || number, 'A', 'a', now() FROM generate_series(1, 1200) AS number`,
      [tenant.tenantAppId],
    )
    const { position } = await read()
    await slow.query(insertUser, [tenant.tenantAppId, 'usr_slow_2'])
    await slow.query('COMMIT')
    await quick.query(insertUser, [tenant.tenantAppId, 'usr_after'])
    await settleEvents(app)
    // Two pages of the log are between them, and are not read.
    const statements = await app.statementsOf(async () => {
      expect(await streamAfter(position, 'usr_after')).toEqual(['usr_slow_1', 'usr_slow_2'])
    })
    expect(statements.filter((sql) => sql.includes('events_removed_to') && sql.includes('unnest')).length).toBeLessThan(
      3,
    )
    await app.database.runAsOwner(`DELETE FROM "user" WHERE id LIKE 'usr_%'`)
  })
})

describe.skipIf(!canCreateClusters)('a position of a server', () => {
  it('is continued from after the server has crashed, and uses numbers of transactions again', async () => {
    // The records of transactions that were rolled back are not flushed meanwhile.
    const cluster = await createCluster({ wal_writer_delay: '10s' })
    onTestFinished(() => cluster.remove())
    const { tenantAppId, key } = await prepare(cluster)
    const send = async (address: string, query: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${address}/graphql`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      })
      return (await response.json()) as { data: { events: { nodes: object[] } }; extensions: { position: string } }
    }
    const before = await listen(cluster.url)
    const ask = () => send(before.address, '{ users { nodes { id } } }', { 'x-position': 'yes' })
    // The first use of a key is written.
    await ask()
    const writer = await connect(cluster.adminUrl)
    writer.on('error', () => undefined)
    await writer.query(insertUser, [tenantAppId, 'usr_before'])
    // Nothing of them is on the disk.
    const numbers: bigint[] = []
    for (let count = 0; count < 20; count += 1) {
      await writer.query('BEGIN')
      const { rows } = await writer.query('SELECT pg_current_xact_id()::text AS number')
      numbers.push(BigInt(rows[0].number))
      await writer.query('ROLLBACK')
    }
    const { extensions } = await ask()
    await cluster.stop('immediate')
    await before.close()
    await cluster.start()
    const other = await connect(cluster.adminUrl)
    await other.query('BEGIN')
    const { rows } = await other.query('SELECT pg_current_xact_id()::text AS number')
    await other.query(insertUser, [tenantAppId, 'usr_after'])
    await other.query('COMMIT')
    expect(BigInt(rows[0].number)).toBeLessThanOrEqual(numbers.at(-1) ?? 0n)
    const after = await listen(cluster.url)
    onTestFinished(() => after.close())
    const { data } = await send(after.address, `{ events(after: "${extensions.position}") { nodes { resourceId } } }`)
    expect(data.events.nodes).toEqual([{ resourceId: 'usr_after' }])
  })
})
