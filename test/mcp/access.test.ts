import { createRateLimit } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { userScopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { connectTo } from '../support/mcp.ts'
import { patientLoad } from '../support/patient-load.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({ corsOrigins: ['https://app.example.com'] })
  tenant = await app.createTenant()
  const make = factoriesFor(app, tenant)
  for (const name of ['Mine', 'Theirs']) {
    await make.user({ id: `user_${name}`, name })
    const account = await make.account(`user_${name}`, { id: `account_${name}` })
    await make.profile(account, { fullName: name })
  }
  await make.job({ id: 'job_Theirs' })
  address = await addressOf(app)
})
afterAll(() => app.close())

const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

function send(headers: Record<string, string>, payload: unknown = ping, method = 'POST') {
  const accept = 'application/json, text/event-stream'
  return app.app.inject({
    method: method as 'POST',
    url: '/mcp',
    headers: { accept, 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(payload),
  })
}

describe('a token that is bound to a user', () => {
  async function connect() {
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: 'user_Mine', scopes: userScopes } },
    )
    return connectTo(address, { authorization: `Bearer ${data.createAccessToken.accessToken}` })
  }

  it('sees that user only, with each tool', async () => {
    const { call } = await connect()
    expect((await call('list_users')).json.users).toMatchObject([{ id: 'user_Mine' }])
    expect((await call('get_user', { id: 'user_Mine' })).json).toMatchObject({ name: 'Mine' })
    expect((await call('get_user', { id: 'user_Theirs' })).json).toMatchObject({ code: 'NOT_FOUND' })
    const { json } = await call('get_profiles', { account_ids: ['account_Mine', 'account_Theirs'] })
    expect(json.profiles).toMatchObject([{ full_name: 'Mine' }])
    const query = '{ users(first: 10) { nodes { name } } user(id: "user_Theirs") { name } }'
    expect((await call('query', { query })).json.data).toEqual({ users: { nodes: [{ name: 'Mine' }] }, user: null })
  })

  it('changes that user only', async () => {
    const { call } = await connect()
    expect(await call('update_user', { id: 'user_Theirs', name: 'Changed' })).toMatchObject({ isError: true })
    expect(await call('get_job', { id: 'job_Theirs' })).toMatchObject({ isError: true })
    const { name } = (await app.rest(tenant, 'GET', '/users/user_Theirs')).json()
    expect(name).toBe('Theirs')
  })
})

it('a key of another tenant sees none of the rows', async () => {
  const other = await app.createTenant()
  const { call } = await connectTo(address, { 'x-api-key': other.key })
  expect((await call('list_users')).json).toEqual({ users: [] })
  expect((await call('get_user', { id: 'user_Mine' })).json).toMatchObject({ code: 'NOT_FOUND' })
})

it('a key without the scope of a tool gets the 403 of REST as an error', async () => {
  const { tenantAppId } = tenant
  const { key } = await createKey(app.database, {
    tenantAppId,
    name: 'reader',
    scopes: ['users:read', 'contacts:read'],
  })
  const { call } = await connectTo(address, { 'x-api-key': key })
  expect(await call('get_user', { id: 'user_Mine' })).toMatchObject({ isError: false })
  const user = { name: 'x', email: 'x@example.com', phone: '1' }
  expect(await call('create_user', user)).toMatchObject({ isError: true, json: { status: 403, code: 'FORBIDDEN' } })
  const query = '{ job(id: "job_Theirs") { id } }'
  expect((await call('query', { query })).json.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
})

it('a long message costs points', async () => {
  const log = { error: () => undefined, warn: () => undefined }
  const limited = await app.startAnother({ rateLimit: createRateLimit(2, { log, rejectionMilliseconds: 0 }) })
  const search = async (text: string) => {
    const params = { name: 'search_schema', arguments: { search: text } }
    const { statusCode } = await limited.app.inject({
      method: 'POST',
      url: '/mcp',
      payload: { ...ping, method: 'tools/call', params },
      headers: { accept: 'application/json, text/event-stream', 'x-api-key': tenant.key },
    })
    return statusCode
  }
  expect(await search('user')).toBe(200)
  expect(await search('x'.repeat(2_048))).toBe(200)
  expect(await search('x'.repeat(2_048))).toBe(429)
  await limited.close()
})

describe('a request to /mcp', () => {
  it('without a valid key is 401, before a client is connected', async () => {
    expect((await send({})).json()).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect((await send({ 'x-api-key': 'fus_wrong' })).statusCode).toBe(401)
    await expect(connectTo(address, {})).rejects.toThrow()
  })

  it('from a page whose origin CORS_ORIGINS lacks is 403', async () => {
    const from = (origin: string) => send({ 'x-api-key': tenant.key, origin })
    expect((await from('https://evil.example.com')).json()).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    const allowed = await from('https://app.example.com')
    expect(allowed.statusCode).toBe(200)
    expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example.com')
  })

  it.each(['GET', 'DELETE'])('by %s is 405, because there are no sessions', async (method) => {
    const { statusCode, headers } = await send({ 'x-api-key': tenant.key }, ping, method)
    expect([statusCode, headers.allow]).toEqual([405, 'POST'])
  })

  it('with several messages is 400', async () => {
    const key = { 'x-api-key': tenant.key }
    expect((await send(key, [ping, ping])).json()).toMatchObject({ status: 400, detail: /Batching/ })
  })

  it('with a message that is none is 400', async () => {
    const key = { 'x-api-key': tenant.key }
    for (const message of [{}, 'text', 1, { jsonrpc: '2.0', id: 1 }])
      expect((await send(key, message)).statusCode).toBe(400)
  })

  it('is JSON that nobody may store, whatever the version of the protocol', async () => {
    const { headers } = await send({ 'x-api-key': tenant.key, 'x-other': 'é' })
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(headers['cache-control']).toBe('no-store')
    expect(headers).not.toHaveProperty('mcp-session-id')
  })

  it('opens no stream of announcements', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { toolsListChanged: true }, _meta: meta }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const response = await send(
      { 'x-api-key': tenant.key, ...headers },
      { ...ping, method: 'subscriptions/listen', params },
    )
    expect(response.json()).toMatchObject({ error: { code: -32603 } })
  })
})

describe('limits', () => {
  it('of points are an error with the numbers, and the headers of the response', async () => {
    const rateLimit = createRateLimit(300, {
      log: { error: () => undefined, warn: () => undefined },
      rejectionMilliseconds: 0,
    })
    const limited = await app.startAnother({ rateLimit })
    try {
      const { call } = await connectTo(await addressOf(limited), { 'x-api-key': tenant.key })
      expect(await call('query', { query: '{ users(first: 250) { pageInfo { hasNextPage } } }' })).toMatchObject({
        isError: false,
      })
      const refused = await call('list_users', { limit: 20 })
      expect(refused).toMatchObject({ isError: true, json: { status: 429, code: 'RATE_LIMITED', maximum: 300 } })
      const query = '{ users(first: 250) { pageInfo { hasNextPage } } }'
      expect((await call('query', { query })).json.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }])
      const params = { name: 'list_users', arguments: {} }
      const { headers } = await limited.app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { 'x-api-key': tenant.key, accept: 'application/json, text/event-stream' },
        payload: { ...ping, method: 'tools/call', params },
      })
      expect(headers).toMatchObject({ 'retry-after': expect.any(String), 'x-cost': expect.any(String) })
    } finally {
      await limited.close()
    }
  })

  it('of requests at a time count a call once', async () => {
    const limited = await app.startAnother({ load: { ...patientLoad, maxInFlightPerKey: 1 } })
    try {
      const { call } = await connectTo(await addressOf(limited), { 'x-api-key': tenant.key })
      for (let round = 0; round < 3; round += 1) {
        expect(await call('get_user', { id: 'user_Mine' })).toMatchObject({ isError: false })
      }
    } finally {
      await limited.close()
    }
  })
})

it('the log has a line for the message, and one for the request of the tool, with one request id and without a key', async () => {
  const { call } = await connectTo(address, { 'x-api-key': tenant.key, 'x-request-id': 'call-1' })
  await call('get_user', { id: 'user_Mine' })
  const lines = app.log.filter(({ requestId, sql }) => requestId === 'call-1' && sql !== undefined)
  expect(lines).toContainEqual(
    expect.objectContaining({ route: 'GET /users/:id', status: 200, key: `key of ${tenant.name}` }),
  )
  expect(lines.some(({ cutOff }) => cutOff)).toBe(false)
  await expect
    .poll(() => app.log.some((line) => line['requestId'] === 'call-1' && line['route'] === 'POST /mcp'))
    .toBe(true)
})
