import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../src/auth/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

/** All of an answer but what is of the one request alone. */
async function ask(body: object, accept?: string) {
  const answer = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key, ...(accept !== undefined && { accept }) },
    payload: body,
  })
  const { 'x-request-id': _id, date: _date, ...headers } = answer.headers
  return { status: answer.statusCode, headers, body: answer.body }
}

// The first time Yoga answers; from the second on it is passed by.
it.each([
  undefined,
  '*/*',
  'application/json',
  'application/json, */*',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.9',
  'application/json, application/graphql-response+json',
  'application/json; charset=utf-8',
  'application/json; charset=latin1, application/graphql-response+json',
  'application/graphql-response+json; charset=utf-8, application/json',
  'text/html, application/json',
  'text/event-stream',
  'multipart/mixed',
  'image/png',
  'application/*',
  '',
])('an operation that comes again is answered like the first time: accept %s', async (accept) => {
  const queries = [
    { query: '{ viewer { tenantApp { id } } }' },
    { query: 'query A { viewer { keyName } } query B { b: viewer { keyName } }', operationName: 'B' },
    { query: 'query A { viewer { keyName } } query B { b: viewer { keyName } }', operationName: 'C' },
    { query: 'query A { viewer { keyName } } query B { b: viewer { keyName } }' },
    { query: 'query ($id: ID!) { user(id: $id) { id } }', variables: { id: 'usr_1' } },
    { query: 'query ($id: ID!) { user(id: $id) { id } }', variables: { id: { no: 1 } } },
    { query: 'query ($id: ID!) { user(id: $id) { id } }' },
    { query: '\n{\r\n  users(first: 0) { nodes { id } } }' },
    { query: '{ users(first: 5) { nodes { id } } job(id: "j") { id } }' },
    { query: 'mutation { deleteUser(input: { id: "nobody" }) { deletedUserId userErrors { code } } }' },
    { query: '{ nobody }' },
    { query: '{' },
  ]
  for (const body of queries) {
    // A document of its own for each header.
    const asked = { ...body, query: `${body.query} # ${accept}` }
    const first = await ask(asked, accept)
    expect(await ask(asked, accept)).toEqual(first)
    expect(await ask(asked, accept)).toEqual(first)
  }
})

it('what one key may not, it may not when the operation is known either', async () => {
  const query = '{ users { nodes { id } } } # known'
  const answer = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key },
    payload: { query },
  })
  expect(answer.json()).toMatchObject({ data: { users: { nodes: [] } } })
  const { tenantAppId } = tenant
  const narrow = await createKey(app.database, { tenantAppId, name: 'narrow', scopes: ['jobs:read'] })
  const refused = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': narrow.key },
    payload: { query },
  })
  expect(refused.json()).toMatchObject({ errors: [{ path: ['users'], extensions: { code: 'FORBIDDEN' } }] })
})
