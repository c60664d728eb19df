import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'

let primary: Cluster
let standby: Cluster
let gateway: ListeningGateway
let key: string

beforeAll(async () => {
  if (!canCreateClusters) return
  primary = await createCluster()
  key = (await prepare(primary.url)).key
  standby = await primary.createReplica()
  gateway = await listen(standby.url)
})
afterAll(async () => {
  await gateway?.close()
  await standby?.remove()
  await primary?.remove()
})

async function send(path: string, body?: object) {
  const answer = await fetch(gateway.address + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: (await answer.json()) as object }
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

  it('writes as soon as the server is promoted', async () => {
    const session = new pg.Client({ connectionString: standby.url })
    await session.connect()
    await session.query('SELECT pg_promote(true, 30)')
    await session.end()
    expect((await send('/ready')).status).toBe(200)
    expect((await send('/users', user)).status).toBe(201)
  })
})
