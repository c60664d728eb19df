import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeUsage } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { jobClient, present } from '../support/jobs.ts'
import { connectTo } from '../support/mcp.ts'
import { exportAll, importText, recordsOf } from '../support/transfer.ts'
import { initSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant('constructor')
  address = await addressOf(app)
})
afterAll(() => app.close())

/** Names that other readers of JSON drop, refuse or take for methods. */
const inherited = '{"constructor":{"prototype":{"x":1}},"toString":null,"hasOwnProperty":[{"valueOf":2}]}'
const proto = '{"a":[{"__proto__":{"admin":true}}]}'

const create =
  'mutation ($payload: JSONObject) { createJob(input: { jobType: "constructor", payload: $payload }) { job { id payload } userErrors { field message } } }'

const refusal = '{"job":null,"userErrors":[{"field":["payload"],"message":"must have no key __proto__"}]}'

/** Sends the body of an operation, as text. */
const transports = {
  async POST(body: string): Promise<string> {
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' }
    return (await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: body })).body
  },
  async WebSocket(body: string): Promise<string> {
    const client = await initSocket(address, tenant.key)
    client.send(`{"id":"__proto__","type":"subscribe","payload":${body}}`)
    const message = await client.next()
    client.socket.close()
    return JSON.stringify(message?.payload)
  },
}

const bodyOf = (query: string, variables: string) => `{"query":${JSON.stringify(query)},"variables":${variables}}`

describe.each(Object.entries(transports))('a JSON object that is sent by %s', (_, send) => {
  it('is stored and returned as sent', async () => {
    const body = await send(bodyOf(create, `{"payload":${inherited}}`))
    expect(body).toContain(`"payload":${inherited}`)
    const { id } = JSON.parse(body).data.createJob.job
    expect(await send(bodyOf('query ($id: ID!) { job(id: $id) { payload } }', `{"id":"${id}"}`))).toContain(
      `"payload":${inherited}`,
    )
  })

  it('is refused, and not cut, if it has a key __proto__', async () => {
    expect(await send(bodyOf(create, `{"payload":${proto}}`))).toContain(refusal)
    const literal = create.replace('($payload: JSONObject) ', '').replace('$payload', '{ a: [{ __proto__: 1 }] }')
    expect(await send(bodyOf(literal, '{}'))).toContain(refusal)
  })

  it('passes a variable __proto__ on, and ignores other fields of this name', async () => {
    const query = 'query ($__proto__: Int!) { __proto__: users(first: $__proto__) { __proto__: __typename } }'
    const body = `{"__proto__":{"query":"{ a }"},${bodyOf(query, '{"__proto__":1}').slice(1)}`
    for (const _time of [1, 2]) {
      expect(await send(body)).toContain('"data":{"__proto__":{"__proto__":"UserConnection"}}')
    }
  })
})

it('the result of a job is refused, and not cut, if it has a key __proto__', async () => {
  const call = jobClient(app, tenant)
  await call('createJob', { jobType: 'toString' })
  const { leases } = await call('claimJobs', { jobTypes: ['toString'] })
  const [lease] = present(leases)
  const held = { id: present(lease).job.id, leaseToken: present(lease).leaseToken }
  const refused = await call('completeJob', { ...held, result: JSON.parse(proto) })
  expect(refused.userErrors).toMatchObject([{ field: ['result'], message: 'must have no key __proto__' }])
  const { job } = await call('completeJob', { ...held, result: JSON.parse(inherited) })
  expect(JSON.stringify(job?.result)).toBe(inherited)
})

it('the query string of a GET can have any names', async () => {
  const query = 'query ($__proto__: Int!) { users(first: $__proto__) { __typename } }'
  const search = new URLSearchParams({ query, variables: '{"__proto__":1}', toString: 'x', constructor: 'y' })
  const { body } = await app.app.inject({
    method: 'GET',
    url: `/graphql?__proto__=1&${search}`,
    headers: { 'x-api-key': tenant.key },
  })
  expect(JSON.parse(body)).toMatchObject({ data: { users: { __typename: 'UserConnection' } } })
  const rest = await app.rest(tenant, 'GET', '/users?limit=1&__proto__=1&constructor=2&hasOwnProperty=3')
  expect(rest.statusCode).toBe(200)
})

it('the body of a REST request takes no field from a key __proto__', async () => {
  const { body } = await app.app.inject({
    method: 'POST',
    url: '/users',
    headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    payload: '{"__proto__":{"name":"A"},"email":"a@example.com","phone":"1"}',
  })
  expect(JSON.parse(body)).toMatchObject({ code: 'BAD_USER_INPUT', errors: [{ field: 'name', code: 'REQUIRED' }] })
})

it('the arguments of a tool of MCP can have any names', async () => {
  const { call } = await connectTo(address, { 'x-api-key': tenant.key })
  const query = 'query ($__proto__: Int!, $toString: Int) { users(first: $__proto__, last: $toString) { __typename } }'
  const { json } = await call('query', { query, variables: JSON.parse('{"__proto__":1}'), hasOwnProperty: 1 })
  expect(json).toMatchObject({ data: { users: { __typename: 'UserConnection' } } })
})

it('a record that is imported is stored and exported as it is', async () => {
  const own = await app.createTenant('__proto__')
  const target = { id: own.tenantAppId, name: own.name } as never
  const record = `{"id":"job_1","status":"succeeded","payload":${proto},"result":${inherited},"__proto__":{"attempts":7}}`
  expect(await importText(app.database, target, record)).toEqual({ imported: 1, rejections: [] })
  const { text } = await exportAll(app.database, target)
  expect(recordsOf(text)).toContain(`"payload":${proto},"result":${inherited},"attempts":0`)
})

it('clients, operations, tenants and keys can have any names', async () => {
  const headers = { 'x-api-key': tenant.key, 'graphql-client-name': '__proto__', 'graphql-client-version': 'toString' }
  const query = 'query constructor { viewer { tenantApp { name } keyName } }'
  const { body } = await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
  const viewer = { tenantApp: { name: 'constructor' }, keyName: 'key of constructor' }
  expect(JSON.parse(body)).toMatchObject({ data: { viewer } })
  await writeUsage(app.database, app.services.usageCounts.take())
  const read = '{ usage(first: 500) { nodes { clientName clientVersion operationName } } }'
  const { data } = await app.graphql<{ usage: { nodes: object[] } }>(tenant, read)
  expect(data.usage.nodes).toContainEqual({
    clientName: '__proto__',
    clientVersion: 'toString',
    operationName: 'constructor',
  })
})
