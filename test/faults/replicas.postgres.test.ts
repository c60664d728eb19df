import type { PoolSettings } from '@fusion-gateway/sql'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { locationOf } from '../support/settings.ts'

let primary: Cluster
let replica: Cluster
let tenantAppId: string
let writer: string
let reader: string
let gateway: ListeningGateway
let states: boolean[]
let proxy: TcpProxy | undefined
let wake = () => {}

beforeAll(async () => {
  if (!canCreateClusters) return
  primary = await createCluster()
  ;({ tenantAppId, key: writer } = await prepare(primary))
  const database = await openDatabase(locationOf(primary.url))
  reader = (await createKey(database, { tenantAppId, name: 'reader' })).key
  await database.close()
  replica = await primary.createReplica()
})
afterEach(() => gateway?.close())
afterAll(async () => {
  await proxy?.close()
  await replica?.remove()
  await primary?.remove()
})

/** Starts a gateway, and waits until it reads from the replica. */
async function start(lagMilliseconds: number, url = primary.url, pool: Partial<PoolSettings> = {}): Promise<void> {
  states = []
  gateway = await listen(url, {
    pool,
    replicas: { urls: [replica.url], lagMilliseconds },
    onReplica(_name, isUsable) {
      states.push(isUsable)
      wake()
    },
  })
  await until(true)
}

async function until(isUsable: boolean): Promise<void> {
  while (states.at(-1) !== isUsable) {
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
}

async function query(cluster: Cluster, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.adminUrl })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** Pauses the replication while `work` runs. */
async function whilePaused(work: () => Promise<void>): Promise<void> {
  await query(replica, 'SELECT pg_wal_replay_pause()')
  // PostgreSQL pauses a little later than requested.
  await query(
    replica,
    `DO $$ BEGIN WHILE pg_get_wal_replay_pause_state() <> 'paused' LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`,
  )
  try {
    await work()
  } finally {
    await query(replica, 'SELECT pg_wal_replay_resume()')
  }
}

function send(key: string, method: string, path: string, body?: object) {
  return fetch(gateway.address + path, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
}

async function create(): Promise<string> {
  const response = await send(writer, 'POST', '/users', { name: 'Ada', email: 'ada@example.com', phone: '1' })
  return ((await response.json()) as { id: string }).id
}

const statusOf = async (key: string, id: string) => (await send(key, 'GET', `/users/${id}`)).status

async function nameOf(key: string, id: string): Promise<unknown> {
  const response = await send(key, 'POST', '/graphql', { query: `{ user(id: "${id}") { name } }` })
  return ((await response.json()) as { data: { user: unknown } }).data.user
}

describe.skipIf(!canCreateClusters)('a replica', () => {
  it('serves queries, except for keys that have just written, which read their writes from the primary', async () => {
    await start(60_000)
    await whilePaused(async () => {
      const id = await create()
      expect(await statusOf(writer, id)).toBe(200)
      expect(await nameOf(writer, id)).toEqual({ name: 'Ada' })
      // Another key reads from the replica, which does not have the row yet.
      expect(await statusOf(reader, id)).toBe(404)
      expect(await nameOf(reader, id)).toBeNull()
      const changed = await send(writer, 'PUT', `/users/${id}`, { name: 'Grace' })
      expect(await changed.json()).toMatchObject({ name: 'Grace' })
    })
  })

  it('serves no query whose client follows the log, because the position is one of the primary', async () => {
    await start(60_000)
    const ask = async (id: string) => {
      const response = await fetch(`${gateway.address}/graphql`, {
        method: 'POST',
        headers: { 'x-api-key': reader, 'content-type': 'application/json', 'x-position': 'yes' },
        body: JSON.stringify({ query: `{ user(id: "${id}") { name } }` }),
      })
      return (await response.json()) as { data: { user: unknown }; extensions: { position: string } }
    }
    await whilePaused(async () => {
      const id = await create()
      expect(await nameOf(reader, id)).toBeNull()
      const { data, extensions } = await ask(id)
      expect(data.user).toEqual({ name: 'Ada' })
      const later = await create()
      const query = `{ events(after: "${extensions.position}") { nodes { resourceId } } }`
      const response = await send(writer, 'POST', '/graphql', { query })
      expect(await response.json()).toMatchObject({ data: { events: { nodes: [{ resourceId: later }] } } })
    })
  })

  it('that falls behind is left out before its delay exceeds the lag, and is used again when it has caught up', async () => {
    await start(1_000)
    await whilePaused(async () => {
      const id = await create()
      const startedAt = performance.now()
      await until(false)
      expect(performance.now() - startedAt).toBeLessThan(1_500)
      expect(await statusOf(reader, id)).toBe(200)
    })
    await until(true)
  })

  it('is not used while the primary does not report its position, so a key sees what it has just written', async () => {
    proxy = await startProxy(Number(new URL(primary.url).port))
    const url = new URL(primary.url)
    url.port = String(proxy.port)
    await start(400, url.href)
    // The connection exists and the key is known, so that little else is delayed.
    await statusOf(writer, 'none')
    await whilePaused(async () => {
      // Longer than the second that the primary has for its position.
      proxy?.delay(520)
      const id = await create()
      await until(false)
      expect(await statusOf(writer, id)).toBe(200)
      proxy?.restore()
    })
  })

  it('is still used after a statement on it has timed out', async () => {
    await start(60_000, primary.url, { statementMilliseconds: 300 })
    const id = await create()
    while ((await statusOf(reader, id)) !== 200);
    const lock = new pg.Client({ connectionString: primary.adminUrl })
    await lock.connect()
    await lock.query('BEGIN; LOCK TABLE account')
    // The primary sends the lock with the next commit; without one it may wait 5 s.
    await query(primary, 'SELECT pg_current_xact_id()')
    // The lock is replicated, too.
    const isLocked = `SELECT count(*) FROM pg_locks WHERE relation = 'account'::regclass AND mode = 'AccessExclusiveLock'`
    await query(replica, `DO $$ BEGIN WHILE (${isLocked}) = 0 LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`)
    const response = await send(reader, 'POST', '/graphql', { query: `{ user(id: "${id}") { accounts { id } } }` })
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
    expect(states.at(-1)).toBe(true)
    await lock.query('ROLLBACK')
    await lock.end()
  })

  it.each(['stopped', 'killed', 'frozen'] as const)(
    'that is %s causes no failed request, and is used again when it has recovered',
    async (fault) => {
      await start(2_000)
      const id = await create()
      // The replica may not have the new row yet.
      while ((await statusOf(reader, id)) !== 200);
      let isOver = false
      const statuses: number[] = []
      let slowest = 0
      const readers = Array.from({ length: 5 }, async () => {
        while (!isOver) {
          const startedAt = performance.now()
          statuses.push(await statusOf(reader, id))
          slowest = Math.max(slowest, performance.now() - startedAt)
        }
      })
      while (statuses.length < 50) await new Promise(setImmediate)
      if (fault === 'frozen') replica.freeze()
      else await replica.stop(fault === 'stopped' ? 'fast' : 'immediate')
      await until(false)
      const { length } = statuses
      while (statuses.length < length + 50) await new Promise(setImmediate)
      if (fault === 'frozen') replica.thaw()
      else await replica.start()
      await until(true)
      isOver = true
      await Promise.all(readers)
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(slowest).toBeLessThan(3_000)
      expect(gateway.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
    },
  )
})
