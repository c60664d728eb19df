import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ requiresClientName: true })
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const name = { 'graphql-client-name': 'web' }

const query = (headers: object) =>
  app.app.inject({
    method: 'POST',
    url: '/graphql',
    payload: { query: '{ users { nodes { id } } }' },
    headers: { 'x-api-key': tenant.key, ...headers },
  })

it('with REQUIRE_CLIENT_NAME=on, operations of clients without a name are rejected', async () => {
  const rejected = await query({ 'graphql-client-version': '1' })
  expect([rejected.statusCode, rejected.json()]).toMatchObject([
    400,
    {
      errors: [{ extensions: { code: 'MALFORMED_REQUEST' }, message: expect.stringContaining('graphql-client-name') }],
    },
  ])
  for (const headers of [name, { 'apollographql-client-name': 'web' }]) {
    expect((await query(headers)).statusCode).toBe(200)
  }
})

it('REST routes run operations too, and have the same rule', async () => {
  const get = (headers: object) => app.app.inject({ url: '/users', headers: { 'x-api-key': tenant.key, ...headers } })
  const rejected = await get({})
  expect([rejected.statusCode, rejected.json()]).toMatchObject([400, { code: 'MALFORMED_REQUEST' }])
  expect((await get(name)).statusCode).toBe(200)
})
