import { getOperationAST, parse } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { toRest } from '../support/to-rest.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await seedTenant(app.database, { tenantAppId: tenant.tenantAppId, users: 600, seed: 3 })
  rows = await createOneOfEach(app, tenant)
  await factoriesFor(app, tenant).user({ phone: null })
})
afterAll(() => app.close())

interface Case {
  readonly path?: Record<string, string>
  readonly query?: string
  readonly body?: unknown
  readonly variables: Record<string, unknown>
}

/** A request to a route, and the variables of the same request on /graphql. */
function caseOf({ method, url }: Route): Case {
  const accountIds = [rows.account.id]
  const user = { name: 'A', email: 'a@b', phone: '1' }
  const cases: Record<string, Case> = {
    'POST /users': { body: user, variables: { input: user } },
    'GET /users': { query: '?limit=500', variables: { first: 500 } },
    'GET /users/:id': { path: { ':id': rows.user.id }, variables: { id: rows.user.id } },
    'PUT /users/:id': {
      path: { ':id': rows.user.id },
      body: { phone: null },
      variables: { input: { id: rows.user.id, phone: null } },
    },
    'GET /fusion/profiles': { body: accountIds, variables: { accountIds } },
    'GET /fusion/jobs/:id': { path: { ':id': rows.job.id }, variables: { id: rows.job.id } },
  }
  const found = cases[`${method} ${url}`]
  if (!found) throw new Error(`${method} ${url} has no case in this test`)
  return found
}

/** Masks the ids and times of a new or changed user, which differ in each run. */
const maskVarying = (body: string) => body.replaceAll(/usr_[\w-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<varies>')

it.each(routes.map((route) => [route.method, route.url, route] as const))(
  '%s %s returns the response of its stored operation on /graphql',
  async (method, url, route) => {
    const { path = {}, query = '', body, variables } = caseOf(route)
    const filled = Object.entries(path).reduce((filling, [name, value]) => filling.replace(name, value), url)
    const rest = await app.rest(tenant, method, filled + query, body)
    const { data, errors } = await app.graphql(tenant, route.operation, variables)
    expect(errors).toBeUndefined()
    const value = route.response.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], data)
    const expected = toRest('', value)
    const expectedBody = JSON.stringify(route.listKey === undefined ? expected : { [route.listKey]: expected })
    expect(rest.statusCode).toBeLessThan(300)
    const isWrite = getOperationAST(parse(route.operation))?.operation === 'mutation'
    expect(isWrite ? maskVarying(rest.body) : rest.body).toBe(isWrite ? maskVarying(expectedBody) : expectedBody)
  },
)

it('GET /users streams the same list as two pages of its stored operation', async () => {
  const route = routes.find(({ method, url }) => method === 'GET' && url === '/users')
  const nodes: unknown[] = []
  let after: string | null = null
  do {
    const {
      data,
    }: { data: Record<string, { nodes: unknown[]; pageInfo: { hasNextPage: boolean; endCursor: string } }> } =
      await app.graphql(tenant, route?.operation ?? '', { first: 500, after })
    nodes.push(...(data['users']?.nodes ?? []))
    after = data['users']?.pageInfo.hasNextPage ? data['users'].pageInfo.endCursor : null
  } while (after !== null)
  expect(nodes.length).toBeGreaterThan(600)
  expect((await app.rest(tenant, 'GET', '/users')).body).toBe(JSON.stringify({ users: toRest('', nodes) }))
})
