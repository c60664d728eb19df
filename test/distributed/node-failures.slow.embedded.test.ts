import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import { createKeyRing } from '../../src/engine/secrets/key-ring.ts'
import type { GraphQLResponse, TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import type { Cluster } from '../support/cluster.ts'
import { createGateway, type Gateway, prepare } from '../support/gateway.ts'
import { locationOf, settings } from '../support/settings.ts'
import { type Receiver, startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'
import { type CitusServers, canCreateCitus, createCitusServers } from './citus-servers.ts'
import { followFeed } from './load.ts'
import { createTenantOn } from './nodes.ts'

// The servers are those of the test, because it stops them. TEST_CITUS_URL says that Citus is to be tested.
const isTested = Boolean(process.env['TEST_CITUS_URL']) && canCreateCitus

let servers: CitusServers
let database: Database
let gateway: Gateway
let node: Cluster
/** A tenant on the node that fails, and one on the other node. */
let failing: TestTenant
let other: TestTenant

const hostOf = ({ adminUrl }: Cluster) => new URL(adminUrl).host

beforeAll(async () => {
  if (!isTested) return
  servers = await createCitusServers(2)
  const [first, second] = servers.nodes as [Cluster, Cluster]
  await prepare(servers.coordinator)
  const options = servers.nodes.flatMap((server) => ['--node', hostOf(server)])
  const env = { DATABASE_URL: servers.coordinator.adminUrl }
  expect(await fusion(['migrate', 'distribute', '--shards', '4', ...options], env)).toMatchObject({ code: 0 })
  database = await openDatabase(locationOf(servers.coordinator.url))
  const keyRing = createKeyRing([randomBytes(32)])
  gateway = await createGateway(database, { ...settings, keyRing, fetchPrivateNetworks: true })
  let tenants = 0
  const createOne = async () => {
    tenants += 1
    const { id: tenantAppId, name } = await createTenant(database, `Tenant ${tenants}`)
    const { key, row } = await createKey(database, { tenantAppId, name: 'key' })
    return { tenantAppId, name, key, keyId: row.id }
  }
  node = first
  failing = await createTenantOn({ database, createTenant: createOne }, hostOf(first))
  other = await createTenantOn({ database, createTenant: createOne }, hostOf(second))
}, 120_000)
afterAll(async () => {
  await gateway?.close()
  await database?.close()
  await servers?.remove()
})

async function graphql<Data>({ key }: TestTenant, query: string, variables?: Record<string, unknown>) {
  const headers = { 'x-api-key': key }
  const response = await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query, variables } })
  return response.json() as GraphQLResponse<Data>
}

async function restart(): Promise<void> {
  await node.stop('fast')
  await node.start()
}

/** @param whileDown called when the node does not run */
async function kill(whileDown: () => Promise<void>): Promise<void> {
  node.kill()
  await whileDown()
  // Its processes may need a moment to end.
  const start = () =>
    node.start().then(
      () => true,
      () => false,
    )
  await expect.poll(start).toBe(true)
}

interface Client {
  /** The ids of users that were created. */
  readonly created: string[]
  readonly errors: string[]
  readonly milliseconds: number[]
  stop(): Promise<void>
}

const mutation =
  'mutation { createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id } userErrors { code } } }'

/** Creates users of a tenant, one after the other. */
function startClient(tenant: TestTenant): Client {
  const client = { created: [] as string[], errors: [] as string[], milliseconds: [] as number[] }
  let isOver = false
  const send = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      const { data: result, errors } = await graphql<{ createUser: { user: { id: string } } | null }>(tenant, mutation)
      client.milliseconds.push(performance.now() - startedAt)
      if (result?.createUser) client.created.push(result.createUser.user.id)
      for (const error of errors ?? []) client.errors.push(String(error.extensions['code']))
      await sleep(20)
    }
  }
  const sending = send()
  return {
    ...client,
    async stop() {
      isOver = true
      await sending
    },
  }
}

const p99 = (values: readonly number[]) => values.toSorted((one, two) => one - two)[Math.floor(values.length * 0.99)]

async function receive(tenant: TestTenant): Promise<Receiver> {
  const receiver = await startReceiver()
  await webhookClient({ graphql }, tenant).create(receiver.url)
  return receiver
}

const idsIn = ({ messages }: Receiver) => messages.map(({ body }) => JSON.parse(body).data?.resourceId ?? body)

describe.skipIf(!isTested)('a node that fails', () => {
  it.each([
    ['is restarted', restart],
    ['is killed, and started again', kill],
  ])('%s: its tenants get 503 and come back, and others notice nothing', async (_, fail) => {
    const tenants = [failing, other]
    const readers = await Promise.all(tenants.map((tenant) => followFeed(gateway, tenant)))
    const receivers = await Promise.all(tenants.map(receive))
    const stopDeliveries = startDeliveriesOf(gateway)
    const clients = tenants.map(startClient) as [Client, Client]
    onTestFinished(async () => {
      for (const client of clients) await client.stop()
      await stopDeliveries()
      for (const reader of readers) reader.stop()
      for (const receiver of receivers) await receiver.close()
    })
    await sleep(1_000)
    await fail(async () => {
      const before = readers[1]?.received.length ?? 0
      await expect.poll(() => readers[1]?.received.length, { timeout: 3_000 }).toBeGreaterThan(before + 10)
    })
    const after = clients[0].created.length
    await expect.poll(() => clients[0].created.length).toBeGreaterThan(after + 10)
    for (const client of clients) await client.stop()
    const [ofFailing, ofOther] = clients
    expect([...new Set(ofFailing.errors)]).toEqual(['SERVICE_UNAVAILABLE'])
    expect(ofOther.errors).toEqual([])
    expect(p99(ofOther.milliseconds)).toBeLessThan(1_000)
    for (const [index, { created }] of clients.entries()) {
      const { received, tenantAppId } = readers[index] as (typeof readers)[number]
      const log = await database.prisma.event.findMany({ where: { tenantAppId }, orderBy: { id: 'asc' } })
      await expect.poll(() => received.at(-1)).toBe(log.at(-1)?.id)
      const followed = log.slice(-received.length)
      expect(received).toEqual(followed.map(({ id }) => id))
      expect(followed.map(({ resourceId }) => resourceId)).toEqual(expect.arrayContaining(created))
      // The deliverer could not record what it held when the node failed: as when its lease has expired.
      const held = { tenantAppId, status: 'RUNNING' }
      await database.prisma.webhookDelivery.updateMany({ where: held, data: { nextAttemptAt: new Date(0) } })
      await expect.poll(() => created.filter((id) => !idsIn(receivers[index] as Receiver).includes(id))).toEqual([])
    }
  })
})
