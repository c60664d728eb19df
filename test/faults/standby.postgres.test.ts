import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { startProxy } from '../support/proxy.ts'

let primary: Cluster
let standby: Cluster
let gateway: ListeningGateway
let key: string

beforeAll(async () => {
  if (!canCreateClusters) return
  primary = await createCluster()
  key = (await prepare(primary)).key
  standby = await primary.createReplica()
  gateway = await listen(standby.url)
})
afterAll(async () => {
  await gateway?.close()
  await standby?.remove()
  await primary?.remove()
})

async function send(path: string, body?: object) {
  const response = await fetch(gateway.address + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as object,
  }
}

const user = { name: 'Ada', email: 'ada@example.com', phone: '+1 555 0100' }
const create = `mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }`

describe.skipIf(!canCreateClusters)('a gateway whose server is a standby, as after a failover', () => {
  it('answers reads, answers writes with 503, and is not ready', async () => {
    expect((await send('/users/nobody')).status).toBe(404)
    expect(await send('/users', user)).toMatchObject({ status: 503, retryAfter: '5' })
    expect(await send('/graphql', { query: create })).toMatchObject({
      body: { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] },
    })
    expect((await send('/ready')).status).toBe(503)
    expect(gateway.log.some(({ msg }) => msg === 'not ready: the database server is a standby')).toBe(true)
  })

  it('leaves the server when its address leads to the new primary, within two requests', async () => {
    const proxy = await startProxy(Number(new URL(standby.url).port))
    const url = new URL(standby.url)
    url.port = String(proxy.port)
    const other = await listen(url.href)
    const write = () =>
      fetch(`${other.address}/users`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(user),
      })
    const read = (id: number) => fetch(`${other.address}/users/${id}`, { headers: { 'x-api-key': key } })
    await Promise.all(Array.from({ length: 60 }, (_, id) => read(id)))
    const { idle, inUse } = other.database.driver.connections()
    expect(idle + inUse).toBeGreaterThan(1)
    proxy.retarget(Number(new URL(primary.url).port))
    expect((await write()).status).toBe(503)
    expect(await Promise.all(Array.from({ length: 10 }, async () => (await write()).status))).toEqual(
      Array(10).fill(201),
    )
    await other.close()
    await proxy.close()
  })

  it('writes as soon as the server is promoted', async () => {
    const session = new pg.Client({ connectionString: standby.adminUrl })
    await session.connect()
    await session.query('SELECT pg_promote(true, 30)')
    await session.end()
    // The result of a check is kept for a second.
    await expect.poll(async () => (await send('/ready')).status, { timeout: 2_000 }).toBe(200)
    expect((await send('/users', user)).status).toBe(201)
  })
})
