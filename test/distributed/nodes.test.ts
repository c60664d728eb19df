import { requireLayout } from '@fusion-gateway/citus'
import { dataModel } from '@fusion-gateway/database'
import { insertRows, updateEach } from '@fusion-gateway/prisma-trees'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { createTestDatabase, followNodes, type TestDatabase } from '../support/database.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'
import { adminUrl, isDistributed, nodes, runAsAdminOn } from '../support/postgresql.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { locationOf } from '../support/settings.ts'

interface Tenant {
  readonly tenantAppId: string
  readonly key: string
}

let database: TestDatabase
/** A tenant of each node. */
let tenants: Map<string, Tenant>
const opened: { close(): Promise<unknown> }[] = []

beforeEach(async () => {
  if (!isDistributed) return
  database = await createTestDatabase()
  tenants = new Map()
  while (tenants.size < nodes.length) {
    const { id: tenantAppId } = await createTenant(database, `Tenant ${Math.random()}`)
    const { key } = await createKey(database, { tenantAppId, name: 'nodes' })
    tenants.set(await nodeOf(tenantAppId), { tenantAppId, key })
  }
})
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
  await database?.close()
})

/** The same database at another node. */
function urlAt(node: string, url = String(database.url)): string {
  const [hostname = '', port = ''] = node.split(':')
  return Object.assign(new URL(url), { hostname, port }).href
}

const nameOf = () => new URL(String(database.url)).pathname.slice(1)

async function rowsOf(sql: string, values: unknown[] = [], node?: string): Promise<Record<string, unknown>[]> {
  const url = adminUrl(nameOf())
  const client = new pg.Client({ connectionString: node === undefined ? url : urlAt(node, url) })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}

async function nodeOf(tenantAppId: string): Promise<string> {
  const [found] = await rowsOf(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_shard_placement
    WHERE shardid = get_shard_id_for_distribution_column('event', $1::text)`,
    [tenantAppId],
  )
  return String(found?.['node'])
}

async function start(url: string, options: Parameters<typeof listen>[1] = {}): Promise<ListeningGateway> {
  const gateway = await listen(url, { pool: { statementMilliseconds: 30_000 }, ...options })
  opened.push(gateway)
  await followNodes(gateway.database)
  return gateway
}

async function send({ address }: ListeningGateway, { key }: Tenant, email: string, idempotencyKey?: string) {
  const response = await fetch(`${address}/users`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify({ name: 'Ada', email, phone: '1' }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function read({ address }: ListeningGateway, { key }: Tenant): Promise<number> {
  const response = await fetch(`${address}/users`, { headers: { 'x-api-key': key } })
  await response.text()
  return response.status
}

/** How many sessions of gateways a node has that read or wrote users. */
async function sessionsAt(node: string): Promise<number> {
  const sessions = `SELECT count(*)::integer FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'fusion-gateway' AND query LIKE '%"user"%'`
  return Number((await rowsOf(sessions, [], node))[0]?.['count'])
}

describe.skipIf(!isDistributed)('a gateway at any node', () => {
  it('accepts the database, and reads and writes the rows of all nodes', async () => {
    for (const node of nodes) {
      const gateway = await start(urlAt(node))
      await requireLayout(gateway.database)
      for (const tenant of tenants.values()) {
        expect((await send(gateway, tenant, `${node}@example.com`)).status).toBe(201)
      }
    }
    expect(await database.prisma.user.count()).toBe(nodes.length * tenants.size)
    expect(await database.prisma.event.count({ where: { type: 'USER_CREATED' } })).toBe(nodes.length * tenants.size)
  })

  it('runs a request once that gateways at several nodes get at the same time with one idempotency key', async () => {
    const gateways = await Promise.all(
      [String(database.url), ...nodes.map((node) => urlAt(node))].map((url) => start(url)),
    )
    const tries = 40
    for (const tenant of tenants.values()) {
      for (let number = 0; number < tries; number += 1) {
        const email = `${number}@example.com`
        const sent = await Promise.all(gateways.map((gateway) => send(gateway, tenant, email, `key-${number}`)))
        expect(sent.map(({ status }) => status)).toContain(201)
        expect(sent.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
      }
    }
    expect(await database.prisma.user.count()).toBe(tries * tenants.size)
  })
})

describe.skipIf(!isDistributed)('a gateway', () => {
  it("sends statements of a tenant to the tenant's node alone", async () => {
    const gateway = await start(String(database.url))
    for (const [node, tenant] of tenants) {
      const others = nodes.filter((other) => other !== node)
      const before = await Promise.all(others.map(sessionsAt))
      expect((await send(gateway, tenant, 'ada@example.com')).status).toBe(201)
      expect(await read(gateway, tenant)).toBe(200)
      expect(await sessionsAt(node)).toBeGreaterThan(0)
      expect(await Promise.all(others.map(sessionsAt))).toEqual(before)
    }
    const [coordinator] = await rowsOf(`SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid = 0`)
    expect(await sessionsAt(String(coordinator?.['node']))).toBe(0)
  })

  it('reads and writes the same rows when it sends all statements to another node', async () => {
    const [own, wrong] = [...tenants.values()] as [Tenant, Tenant]
    const location = locationOf(String(database.url))
    const wronged = await openDatabase(location)
    opened.push(wronged)
    await followNodes(wronged)
    const where = { tenantAppId: own.tenantAppId }
    const owner = { id: own.tenantAppId }
    const row = { ...where, id: 'usr_1', name: 'Ada', email: 'ada@example.com', phone: null }
    const sql = wronged.sql.for({ statements: 0, tenantAppId: wrong.tenantAppId })
    await sql.transact(async (transaction) => {
      await insertRows(transaction, dataModel('User'), [{ ...row, createdAt: new Date(), updatedAt: new Date() }])
      const changes = [{ where: { id: row.id }, data: { name: 'Eve' } }]
      await updateEach({ sql: transaction, owner, model: dataModel }, 'User', changes)
    })
    expect(await wronged.reads.batch(sql, 'User', 'id', owner, [row.id])).toMatchObject([{ ...row, name: 'Eve' }])
    expect(await database.prisma.user.findMany({ where })).toMatchObject([{ ...row, name: 'Eve' }])
    expect(await sessionsAt(await nodeOf(wrong.tenantAppId))).toBeGreaterThan(0)
  })

  it('refuses requests of a node that is down with 503, and no others, until it is back', async () => {
    const [[node, tenant], [, other]] = [...tenants] as [[string, Tenant], [string, Tenant]]
    const proxy = await startProxy(Number(node.split(':')[1]))
    opened.push(proxy)
    await putBehind(proxy, node)
    const gateway = await start(String(database.url))
    expect([await read(gateway, tenant), await read(gateway, other)]).toEqual([200, 200])
    proxy.cut()
    for (let number = 0; number < 5; number += 1) {
      expect([await read(gateway, tenant), await read(gateway, other)]).toEqual([503, 200])
      const [down, up] = [await send(gateway, tenant, 'ada@example.com'), await send(gateway, other, 'a@example.com')]
      expect([down.status, up.status]).toEqual([503, 201])
    }
    proxy.restore()
    await vi.waitFor(async () => expect(await read(gateway, tenant)).toBe(200), { timeout: 10_000, interval: 100 })
  })

  it('finds a node at its new address', async () => {
    const [[node, tenant]] = [...tenants] as [[string, Tenant]]
    const [before, after] = [await startProxy(Number(node.split(':')[1])), await startProxy(Number(node.split(':')[1]))]
    opened.push(before, after)
    await putBehind(before, node)
    const gateway = await start(String(database.url))
    expect(await read(gateway, tenant)).toBe(200)
    await putBehind(after, `127.0.0.1:${before.port}`)
    before.cut()
    expect(await read(gateway, tenant)).toBe(503)
    await vi.waitFor(async () => expect(await read(gateway, tenant)).toBe(200), { timeout: 10_000, interval: 100 })
  })
})

/** Makes Citus and gateways reach a node through a proxy, until the end of the test. */
async function putBehind({ port }: TcpProxy, node: string): Promise<void> {
  await updateNode(node, port)
  opened.push({
    async close() {
      await updateNode(`127.0.0.1:${port}`, Number(node.split(':')[1]))
      // A transaction over all nodes that the proxy has cut stays prepared, and would hold up every test on the server.
      await runAsAdminOn(nameOf(), 'SELECT recover_prepared_transactions()')
    },
  })
}

const updateNode = (node: string, port: number) =>
  runAsAdminOn(
    nameOf(),
    `SELECT citus_update_node(nodeid, '127.0.0.1', ${port}) FROM pg_dist_node WHERE nodename || ':' || nodeport = '${node}'`,
  )
