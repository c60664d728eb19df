import { id, integer } from '@fusion-gateway/input'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

// No route of the gateway pages through the rows of another row. One that is added to the table shall work.
const route: Route = {
  method: 'GET',
  url: '/users/:id/pages',
  summary: 'List the accounts of a user in pages',
  operation: `query ListPages($id: ID!, $first: Int, $after: String) {
    user(id: $id) { id accountsConnection(first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }
  }`,
  parameters: [
    { in: 'path', name: 'id', variable: 'id', description: 'The id of the user.', rules: id, example: 'usr_demo_1' },
    { in: 'query', name: 'limit', variable: 'first', description: 'The number.', rules: integer(1, 500), example: 1 },
    { in: 'query', name: 'cursor', variable: 'after', description: 'The start.', rules: id },
  ],
  variables: ({ params, query }) => ({ id: params['id'], first: Number(query['limit']), after: query['cursor'] }),
  response: 'user.accountsConnection.nodes',
  connection: 'user.accountsConnection',
  listKey: 'accounts',
  component: 'Page',
}

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  ;(routes as Route[]).push(route)
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

it('a page of the rows of a row links to the next one of the same row', async () => {
  const create = factoriesFor(app, tenant)
  const user = await create.user()
  const accounts = [await create.account(user.id), await create.account(user.id)]
  const first = await app.rest(tenant, 'GET', `/users/${user.id}/pages?limit=1`)
  const [, next = ''] = /^<(.*)>; rel="next"$/.exec(String(first.headers['link'])) ?? []
  expect(next).toMatch(`/users/${user.id}/pages?limit=1&cursor=`)
  const second = await app.rest(tenant, 'GET', next)
  expect([...first.json().accounts, ...second.json().accounts]).toEqual(accounts.map((account) => ({ id: account.id })))
  expect(second.headers['link']).toBeUndefined()
})

it('a page of the rows of a row that does not exist is 404', async () => {
  expect((await app.rest(tenant, 'GET', '/users/usr_none/pages?limit=1')).statusCode).toBe(404)
})
