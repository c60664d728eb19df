import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { locationOf } from '../support/settings.ts'

let cluster: Cluster
let admin: pg.Client
let tenantAppId: string
let key: string
let gateway: ListeningGateway
let headers: Record<string, string>

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  ;({ tenantAppId, key } = await prepare(cluster))
  admin = new pg.Client({ connectionString: cluster.adminUrl })
  await admin.connect()
  headers = { 'x-api-key': key }
})
afterEach(() => gateway?.close())
afterAll(async () => {
  await admin?.end()
  await cluster?.remove()
})

/** Locks a table while `work` runs. */
async function whileLocked<Result>(table: string, work: () => Promise<Result>, mode = ''): Promise<Result> {
  const client = new pg.Client({ connectionString: cluster.adminUrl })
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} ${mode}`)
  try {
    return await work()
  } finally {
    await client.query('ROLLBACK')
    await client.end()
  }
}

/** Counts the statements that wait for a lock of the table of users, over a connection of the test's own. */
async function countWaiting(): Promise<number> {
  const { rows } = await admin.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = '"user"'::regclass`)
  return rows.length
}

/** Creates a tenant, without the limits of the gateway of a test. Returns its key. */
async function createOther(): Promise<string> {
  const database = await openDatabase(locationOf(cluster.url))
  const { id: tenantAppId } = await createTenant(database, 'Other')
  const { key } = await createKey(database, { tenantAppId, name: 'other' })
  await database.close()
  return key
}

async function get(path: string, own = headers) {
  const startedAt = performance.now()
  const response = await fetch(gateway.address + path, { headers: own })
  const body = (await response.json()) as { code?: string }
  return { status: response.status, response, body, milliseconds: performance.now() - startedAt }
}

describe.skipIf(!canCreateClusters)('a request gets 503 with Retry-After when', () => {
  it('a statement takes too long', async () => {
    gateway = await listen(cluster.url, { pool: { statementMilliseconds: 300 } })
    const late = await whileLocked('"user"', () => get('/users/usr_1'))
    expect(late).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } })
    expect(late.response.headers.get('retry-after')).toBe('5')
    expect(late.milliseconds).toBeGreaterThan(290)
    expect((await get('/users/usr_1')).status).toBe(404)
  })

  it('all connections are in use', async () => {
    // On a busy machine the reads are long operations, of which two of each tenant run at a time.
    const other = { 'x-api-key': await createOther() }
    gateway = await listen(cluster.url, {
      pool: { size: 2, acquireMilliseconds: 300, statementMilliseconds: 60_000 },
      keyCacheMilliseconds: 60_000,
    })
    // Until both connections are open: on a busy machine that can take longer than a request may wait.
    const both = () => Promise.all([get('/users/usr_1'), get('/users/usr_1', other)])
    while ((await both()).some(({ status }) => status !== 404));
    const responses = whileLocked('"user"', async () => {
      const held = [get('/users/usr_1'), get('/users/usr_2')]
      while ((await countWaiting()) < 2) await new Promise(setImmediate)
      const rejected = await get('/users/usr_3', other)
      expect(rejected).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } })
      expect(rejected.milliseconds).toBeGreaterThan(290)
      expect(rejected.milliseconds).toBeLessThan(3_000)
      return held
    })
    for (const response of await responses) expect((await response).status).toBe(404)
  })

  it('the server accepts the connection but does not answer', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    gateway = await listen(`postgresql://postgres@127.0.0.1:${port}/postgres`, { pool: { connectMilliseconds: 300 } })
    const late = await get('/users/usr_1')
    expect(late).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } })
    expect(late.milliseconds).toBeGreaterThan(290)
    expect(late.milliseconds).toBeLessThan(3_000)
    silent.close()
  })
})

describe.skipIf(!canCreateClusters)('while writes wait for a lock, as during migrate partition', () => {
  it('reads are served, and the gateway is ready, however many tenants write in whatever way', async () => {
    gateway = await listen(cluster.url, { pool: { acquireMilliseconds: 60_000, statementMilliseconds: 60_000 } })
    const keys = await Promise.all(
      ['A', 'B', 'C'].map(async (name) => {
        const { id } = await createTenant(gateway.database, name)
        return (await createKey(gateway.database, { tenantAppId: id, name })).key
      }),
    )
    let sent = 0
    const write = async (own: string) => {
      sent += 1
      const once = sent % 2 === 0 && { 'idempotency-key': `write-${sent}` }
      const response = await fetch(`${gateway.address}/users`, {
        method: 'POST',
        headers: { 'x-api-key': own, 'content-type': 'application/json', ...once },
        body: JSON.stringify({ name: 'Ada', email: `ada${sent}@example.com`, phone: '1' }),
      })
      return response.status
    }
    const statuses = await whileLocked(
      '"user"',
      async () => {
        const written = keys.flatMap((own) => Array.from({ length: 15 }, () => write(own)))
        await expect.poll(countWaiting).toBe(6)
        expect((await get('/users/usr_1')).status).toBe(404)
        expect((await get('/ready')).status).toBe(200)
        // No more of them wait at a time.
        expect(await countWaiting()).toBe(6)
        return Promise.resolve({ written })
      },
      'IN SHARE MODE',
    )
    expect(new Set(await Promise.all(statuses.written))).toEqual(new Set([201]))
  })

  it('further writes get 503 when they have waited in the queue for as long as for a connection', async () => {
    gateway = await listen(cluster.url, { pool: { size: 2, acquireMilliseconds: 300, statementMilliseconds: 60_000 } })
    const write = async () => {
      const query =
        'mutation { createUser(input: { name: "Ada", email: "a@example.com", phone: "1" }) { user { name } } }'
      const response = await fetch(`${gateway.address}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      })
      return response.json()
    }
    const { first } = await whileLocked('"user"', async () => {
      const first = write()
      await expect.poll(countWaiting).toBe(1)
      expect(await write()).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
      return { first }
    })
    expect(await first).toMatchObject({ data: { createUser: { user: { name: 'Ada' } } } })
  })
})

describe.skipIf(!canCreateClusters)('a transaction whose statement gets no response', () => {
  it('leaves no connection in a transaction', async () => {
    gateway = await listen(cluster.url, { pool: { size: 1, statementMilliseconds: 200 } })
    await get('/users/usr_1')
    try {
      await expect(
        gateway.database.sql.transact(async (sql) => {
          cluster.freeze()
          await sql.execute({ text: 'DELETE FROM "user"' })
        }),
      ).rejects.toThrow('Query read timeout')
    } finally {
      cluster.thaw()
    }
    expect((await get('/users/usr_1')).status).toBe(404)
    const observer = new pg.Client({ connectionString: cluster.adminUrl })
    await observer.connect()
    const { rows } = await observer.query(`SELECT FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`)
    await observer.end()
    expect(rows).toHaveLength(0)
  })
})

describe.skipIf(!canCreateClusters)('a client that disconnects', () => {
  it('causes no further statement', async () => {
    gateway = await listen(cluster.url)
    const { prisma } = gateway.database
    const user = { tenantAppId, id: 'usr_gone', name: 'Ada', email: 'ada@example.com' }
    await prisma.user.create({ data: user })
    const account = { tenantAppId, userId: user.id, id: 'acc_gone', platform: 'TWITCH' }
    await prisma.account.create({ data: { ...account, platformAccountId: 'ada', displayName: 'Ada' } })
    const controller = new AbortController()
    await whileLocked('account', async () => {
      const request = fetch(`${gateway.address}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({
          query:
            'mutation { updateUser(input: { id: "usr_gone", name: "Eve" }) { user { accounts { id profile { id } } } } }',
        }),
        signal: controller.signal,
      })
      while (!gateway.statements.some((sql) => sql.includes('FROM "account"'))) await new Promise(setImmediate)
      controller.abort()
      await expect(request).rejects.toThrow()
      await gateway.logged(({ cutOff }) => cutOff === true)
    })
    // The statements under way end before this request.
    while (gateway.database.driver.connections().inUse > 0) await new Promise(setImmediate)
    await get('/users/usr_1')
    expect(gateway.statements.filter((sql) => sql.includes('FROM "profile"'))).toEqual([])
    expect(gateway.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
  })

  it('during a transaction rolls it back, and logs no error', async () => {
    gateway = await listen(cluster.url)
    const { prisma } = gateway.database
    const controller = new AbortController()
    await whileLocked('account', async () => {
      const request = fetch(`${gateway.address}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({
          query: 'mutation { syncProfile(input: { accountId: "acc_gone", username: "ada" }) { profile { id } } }',
        }),
        signal: controller.signal,
      })
      while (!gateway.statements.some((sql) => sql.includes('FOR UPDATE'))) await new Promise(setImmediate)
      controller.abort()
      await expect(request).rejects.toThrow()
      await gateway.logged(({ cutOff }) => cutOff === true)
    })
    while (gateway.database.driver.connections().inUse > 0) await new Promise(setImmediate)
    await get('/users/usr_1')
    expect(await prisma.profile.count()).toBe(0)
    expect(gateway.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
  })
})

describe.skipIf(!canCreateClusters)('a client that is too slow', () => {
  const timeouts = {
    headersMilliseconds: 300,
    requestMilliseconds: 600,
    keepAliveMilliseconds: 300,
    idleMilliseconds: 1_000,
  }

  /** Writes raw text, and returns what the gateway sends until it closes the connection. */
  async function write(...parts: readonly string[]): Promise<{ text: string; milliseconds: number }> {
    const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1')
    const startedAt = performance.now()
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    for (const part of parts) socket.write(part)
    await once(socket, 'close')
    return { text, milliseconds: performance.now() - startedAt }
  }

  it('with its headers gets 408', async () => {
    gateway = await listen(cluster.url, { timeouts })
    const { text, milliseconds } = await write('GET /health HTTP/1.1\r\n')
    expect(text).toMatch(/^HTTP\/1.1 408 .*REQUEST_TIMEOUT/s)
    expect(milliseconds).toBeLessThan(2_000)
  })

  it('with its body gets 408', async () => {
    gateway = await listen(cluster.url, { timeouts })
    const head = `POST /users HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`
    const { text } = await write(head, 'content-length: 100\r\n\r\n{"name":')
    expect(text).toMatch(/^HTTP\/1.1 408 .*REQUEST_TIMEOUT/s)
  })

  it('with its next request finds the connection closed', async () => {
    gateway = await listen(cluster.url, { timeouts: { ...timeouts, keepAliveMilliseconds: 200 } })
    const { text, milliseconds } = await write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1.1 200 .*{"status":"ok"}$/s)
    expect(milliseconds).toBeGreaterThan(190)
  })
})
