import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, createMetrics } from '@fusion-gateway/telemetry'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { eraseUsers } from '../../src/domain/erasure/erase-users.ts'
import { createEventFeed } from '../../src/domain/event/event-feed.ts'
import { createEventLog } from '../../src/domain/event/event-log.ts'
import { createServices } from '../../src/domain/services.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { settings } from '../support/settings.ts'

let app: TestApp
let tenant: TestTenant
let address: string
const pools: pg.Pool[] = []

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
})
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await app.close()
})

function openPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: app.database.url, max: 20 })
  pools.push(pool)
  return pool
}

/** Opens a session in another database of the server. */
async function connectElsewhere(): Promise<pg.Client> {
  const url = new URL(app.database.url ?? '')
  url.pathname = '/postgres'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  return client
}

const insert = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'A', 'a', now())`

/**
 * Writes users in transactions that stay open for a while, in which the first write can be long before the last one,
 * and of which a third is rolled back.
 *
 * @returns the ids of the users that exist
 */
async function write(pool: pg.Pool, writer: number, transactions: number): Promise<string[]> {
  const written: string[] = []
  const client = await pool.connect()
  for (let transaction = 0; transaction < transactions; transaction += 1) {
    const ids = Array.from({ length: 1 + (transaction % 3) }, (_, index) => `usr_${writer}_${transaction}_${index}`)
    await client.query('BEGIN')
    for (const id of ids) {
      await client.query(insert, [tenant.tenantAppId, id])
      if (Math.random() < 0.3) await sleep(Math.random() * 20)
    }
    if (transaction % 5 === 0)
      await client.query('SAVEPOINT s; UPDATE "user" SET name = \'B\' WHERE false; ROLLBACK TO s')
    const isKept = Math.random() > 0.33
    await client.query(isKept ? 'COMMIT' : 'ROLLBACK')
    if (isKept) written.push(...ids)
  }
  client.release()
  return written
}

/** Holds up the log by transactions in another database, longer than it waits for these. */
async function writeElsewhere(milliseconds: number, signal: AbortSignal): Promise<void> {
  const session = await connectElsewhere()
  while (!signal.aborted) {
    await session.query('BEGIN; SELECT pg_current_xact_id()')
    await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
    await session.query('COMMIT')
  }
  await session.end()
}

interface Reader {
  readonly received: string[]
  stop(): Promise<void>
}

/** Reads the log and continues after the last id at random points, by pages of the query or by subscriptions. */
function startReader(kind: 'query' | 'subscription', from: string | null): Reader {
  const received: string[] = []
  let isStopping = false
  let last = from

  async function readPage(): Promise<void> {
    type Page = { readonly events: { readonly nodes: readonly { id: string; resourceId: string }[] } }
    const variables = { after: last, first: 1 + Math.floor(Math.random() * 20) }
    const query =
      'query ($after: String, $first: Int) { events(after: $after, first: $first) { nodes { id resourceId } } }'
    const { data } = await app.graphql<Page>(tenant, query, variables)
    for (const { id, resourceId } of data.events.nodes) {
      received.push(resourceId)
      last = id
    }
  }

  async function readStream(): Promise<void> {
    const query = 'subscription ($after: ID) { events(after: $after) { id resourceId } }'
    const stream = await subscribe(address, tenant.key, query, { after: last })
    const timer = setTimeout(() => stream.close(), 20 + Math.random() * 200)
    try {
      for (let event = await stream.next(); event?.data?.data; event = await stream.next()) {
        const { id, resourceId } = event.data.data['events'] as { id: string; resourceId: string }
        received.push(resourceId)
        last = id
      }
    } catch {
      // The stream was closed.
    }
    clearTimeout(timer)
  }

  const stopped = (async () => {
    while (!isStopping) await (kind === 'query' ? readPage() : readStream())
    // What is left.
    for (let before = -1; before < received.length; ) {
      before = received.length
      await readPage()
    }
  })()
  return {
    received,
    stop() {
      isStopping = true
      return stopped
    },
  }
}

describe('readers that resume at random points', () => {
  it('miss and repeat no event of 16 writers whose transactions stay open and are rolled back, beside another database', async () => {
    const { id: start } = await app.database.prisma.event
      .findFirstOrThrow({ where: { tenantAppId: tenant.tenantAppId }, orderBy: { id: 'desc' } })
      .catch(() => ({ id: null }))
    const readers = (['query', 'subscription', 'subscription'] as const).map((kind) =>
      startReader(kind, start ?? 'evt_000000000000000000000000'),
    )
    const pool = openPool()
    const controller = new AbortController()
    const others = Promise.all([1_300, 1_900].map((milliseconds) => writeElsewhere(milliseconds, controller.signal)))
    const written = (await Promise.all(Array.from({ length: 16 }, (_, writer) => write(pool, writer, 60)))).flat()
    controller.abort()
    await others
    // Transactions of other tests on the server can keep the last events from being read.
    await settleEvents(app)
    await Promise.all(readers.map((reader) => reader.stop()))
    expect(written.length).toBeGreaterThan(500)
    for (const { received } of readers) {
      expect(received.length).toBe(written.length)
      expect(new Set(received)).toEqual(new Set(written))
    }
  })
})

describe('a transaction that stays open', () => {
  // The oldest transaction of the server is the one that is named.
  beforeEach(() => settleEvents(app))
  afterEach(() => void vi.restoreAllMocks())

  it('delays later events, which arrive when it ends, without another announcement', async () => {
    const stream = await subscribe(address, tenant.key, 'subscription { events { resourceId } }')
    const pool = openPool()
    const [early, late] = [await pool.connect(), await pool.connect()]
    await early.query('BEGIN')
    await early.query(insert, [tenant.tenantAppId, 'usr_early'])
    await late.query(insert, [tenant.tenantAppId, 'usr_late'])
    const next = stream.next()
    expect(await Promise.race([next, sleep(700)])).toBeUndefined()
    await early.query('ROLLBACK')
    expect((await next)?.data?.data).toEqual({ events: { resourceId: 'usr_late' } })
    early.release()
    late.release()
    stream.close()
  })

  it('in another database delays no event for long, and lets none arrive before an earlier one', async () => {
    const elsewhere = await connectElsewhere()
    const pool = openPool()
    const [early, late] = [await pool.connect(), await pool.connect()]
    const stream = await subscribe(address, tenant.key, 'subscription { events { resourceId } }')
    await elsewhere.query('BEGIN; SELECT pg_current_xact_id()')
    await late.query(insert, [tenant.tenantAppId, 'usr_beside'])
    expect((await stream.next())?.data?.data).toEqual({ events: { resourceId: 'usr_beside' } })
    await early.query('BEGIN')
    await early.query(insert, [tenant.tenantAppId, 'usr_before'])
    await late.query(insert, [tenant.tenantAppId, 'usr_behind'])
    const next = stream.next()
    expect(await Promise.race([next, sleep(2_000)])).toBeUndefined()
    await early.query('COMMIT')
    expect((await next)?.data?.data).toEqual({ events: { resourceId: 'usr_before' } })
    expect((await stream.next())?.data?.data).toEqual({ events: { resourceId: 'usr_behind' } })
    await elsewhere.end()
    early.release()
    late.release()
    stream.close()
  })

  it('is named in the log and counted by a metric after 30 seconds, until it ends', async () => {
    const lines: Record<string, unknown>[] = []
    const logger = createLogger({ logLevel: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
    const metrics = createMetrics()
    const services = createServices(app.database, { ...settings, metrics, logger })
    const stalledSeconds = async () =>
      Number(/^fusion_events_stalled_seconds (\S+)$/m.exec(await metrics.registry.metrics())?.[1])
    const writer = await openPool().connect()
    await writer.query("SET application_name = 'nightly import'; BEGIN")
    await writer.query(insert, [tenant.tenantAppId, 'usr_nightly'])
    await openPool().query(insert, [tenant.tenantAppId, 'usr_after_nightly'])
    const follower = await services.events.follow(tenant)
    // The clock goes forward until the feed has seen 30 seconds pass.
    const now = performance.now.bind(performance)
    let passed = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
    for (; lines.length === 0; passed += 31_000) await sleep(10)
    expect(lines).toMatchObject([
      {
        msg: 'events wait for a transaction that stays open',
        seconds: expect.any(Number),
        writer: expect.stringMatching(/^process \d+ of PostgreSQL \(nightly import\)$/),
      },
    ])
    expect(await stalledSeconds()).toBeGreaterThan(30)
    await writer.query('ROLLBACK')
    while ((await stalledSeconds()) > 0) await sleep(10)
    expect(lines).toHaveLength(1)
    clock.mockRestore()
    writer.release()
    follower.return()
    await services.events.close()
  })

  it('is not counted any more when nobody follows the log', async () => {
    const stalls: number[] = []
    const { database, services } = app
    const { driver } = database
    const log = createEventLog(database)
    const onStall = (seconds: number) => void stalls.push(seconds)
    const feed = createEventFeed({ log, driver, queue: services.queues.searches, onStall, onError: () => undefined })
    const writer = await openPool().connect()
    await writer.query('BEGIN')
    await writer.query(insert, [tenant.tenantAppId, 'usr_unfollowed'])
    await openPool().query(insert, [tenant.tenantAppId, 'usr_after_unfollowed'])
    const follower = await feed.follow(tenant)
    const now = performance.now.bind(performance)
    let passed = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
    for (; stalls.length === 0; passed += 31_000) await sleep(10)
    follower.return()
    await expect.poll(() => stalls.at(-1)).toBe(0)
    clock.mockRestore()
    await writer.query('ROLLBACK')
    writer.release()
    await feed.close()
    await expect(feed.follow(tenant)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('does not keep a follower from starting at the events that were written before it', async () => {
    const pool = openPool()
    const [early, running] = [await pool.connect(), await pool.connect()]
    await early.query('BEGIN')
    await early.query(insert, [tenant.tenantAppId, 'usr_first'])
    await pool.query(insert, [tenant.tenantAppId, 'usr_known'])
    await running.query('BEGIN')
    await running.query(insert, [tenant.tenantAppId, 'usr_running'])
    await pool.query(insert, [tenant.tenantAppId, 'usr_also_known'])
    const stream = await subscribe(address, tenant.key, 'subscription { events { resourceId } }')
    await pool.query(insert, [tenant.tenantAppId, 'usr_later'])
    await running.query('COMMIT')
    await early.query('COMMIT')
    const received = [await stream.next(), await stream.next(), await stream.next()]
    expect(received.map((event) => event?.data?.data?.['events'])).toEqual(
      ['usr_first', 'usr_running', 'usr_later'].map((resourceId) => ({ resourceId })),
    )
    stream.close()
    early.release()
    running.release()
  })
})

describe('a transaction that ends after later ones', () => {
  it('has an event for emails that it changes, although a later transaction has one for the same profile', async () => {
    const create = factoriesFor(app, tenant)
    const { id: profileId } = await create.profile(await create.account((await create.user()).id))
    const email = `INSERT INTO email_record (tenant_app_id, id, profile_id, value, updated_at) VALUES ($1, $2, $3, $2, now())`
    const [early, late] = [await openPool().connect(), openPool()]
    await early.query('BEGIN')
    await early.query(insert, [tenant.tenantAppId, 'usr_before_email'])
    await late.query(email, [tenant.tenantAppId, 'eml_late', profileId])
    await early.query(email, [tenant.tenantAppId, 'eml_early', profileId])
    await early.query(email, [tenant.tenantAppId, 'eml_again', profileId])
    await early.query('COMMIT')
    early.release()
    const where = { resourceId: profileId, type: 'PROFILE_SYNCED' }
    expect(await app.database.prisma.event.count({ where })).toBe(3)
  })

  it('does not hide a job that names a deleted user from the erasure', async () => {
    const { database } = app
    const { id: userId } = await factoriesFor(app, tenant).user()
    const job = `INSERT INTO job (tenant_app_id, id, status, job_type, payload, updated_at) VALUES ($1, 'job_late', 'PENDING', 'x', $2, now())`
    const writer = await openPool().connect()
    await writer.query('BEGIN')
    await writer.query(job, [tenant.tenantAppId, { userId }])
    await database.prisma.user.deleteMany({ where: { id: userId } })
    await eraseUsers(database)
    await writer.query('COMMIT')
    writer.release()
    await expect
      .poll(async () => {
        await eraseUsers(database)
        return database.prisma.job.findFirst({ where: { id: 'job_late' } })
      })
      .toMatchObject({ status: 'CANCELLED', payload: null })
  })
})

describe('announcements of the log', () => {
  it('are at most one in ten milliseconds, whatever the number of transactions, and go on when the clock is set back', async () => {
    const pool = openPool()
    const listener = new pg.Client({ connectionString: app.database.url })
    await listener.connect()
    await listener.query('LISTEN event_written')
    let announced = 0
    listener.on('notification', () => {
      announced += 1
    })
    const startedAt = performance.now()
    const ids = Array.from({ length: 500 }, (_, index) => `usr_announced_${index}`)
    await Promise.all(ids.map((id) => pool.query(insert, [tenant.tenantAppId, id])))
    await listener.query('SELECT')
    const milliseconds = performance.now() - startedAt
    expect(announced).toBeGreaterThan(0)
    // Two transactions that look at the time at the same moment both announce.
    expect(announced).toBeLessThan(2 * (1 + milliseconds / 10))
    await listener.query(
      `SELECT setval('event_announced', (1000 * date_part('epoch', now() + interval '1 hour'))::bigint)`,
    )
    const another = once(listener, 'notification')
    await pool.query(insert, [tenant.tenantAppId, 'usr_of_a_clock'])
    await another
    await listener.end()
  })
})

describe('a database that has crashed', () => {
  it('can number transactions again, and a follower receives their events', async () => {
    const { database, services } = app
    const log = createEventLog(database)
    let hasCrashed = false
    // As after a crash: the horizon goes back behind transactions that were seen before it, and have written nothing
    // that is left.
    const beforeCrash = {
      ...log,
      readNew: async (ends: Parameters<typeof log.readNew>[0]) => {
        const { horizons, ofTenant } = await log.readNew(ends)
        const later = (prefix: string) => (hasCrashed ? prefix : prefix.replace(/^evt_0/, 'evt_1'))
        return {
          horizons: horizons.map(({ complete, begun }) => ({ complete: later(complete), begun: later(begun) })),
          ofTenant,
        }
      },
    }
    const feed = createEventFeed({
      log: beforeCrash,
      driver: database.driver,
      queue: services.queues.searches,
      onStall: () => undefined,
      onError: () => undefined,
    })
    const follower = await feed.follow(tenant)
    const first = follower.next()
    await openPool().query(insert, [tenant.tenantAppId, 'usr_before_crash'])
    expect((await first)?.map(({ resourceId }) => resourceId)).toEqual(['usr_before_crash'])
    hasCrashed = true
    const next = follower.next()
    await openPool().query(insert, [tenant.tenantAppId, 'usr_after_crash'])
    expect((await next)?.map(({ resourceId }) => resourceId)).toEqual(['usr_after_crash'])
    follower.return()
    await feed.close()
  })
})

describe('a listening connection that is killed', () => {
  it('loses no event', async () => {
    const stream = await subscribe(address, tenant.key, 'subscription { events { resourceId } }')
    const pool = openPool()
    for (const round of [1, 2, 3]) {
      await app.database.runAsOwner(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
      )
      await pool.query(insert, [tenant.tenantAppId, `usr_killed_${round}`])
      expect((await stream.next())?.data?.data).toEqual({ events: { resourceId: `usr_killed_${round}` } })
    }
    stream.close()
  })
})
