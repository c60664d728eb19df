import { getOperationAST, parse } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { bodyOf, idFor, jobStatusFor } from '../support/route-requests.ts'
import { toRest } from '../support/to-rest.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { tenantAppId } = tenant
  await seedTenant(app.database, { tenantAppId, users: 30, seed: 3 })
  // More than a page.
  const users = Array.from({ length: 490 }, (_, index) => ({
    tenantAppId,
    id: `bare_${index}`,
    name: 'Ada',
    email: 'a@b',
  }))
  await app.database.prisma.user.createMany({ data: users })
  rows = await createOneOfEach(app, tenant)
  const make = factoriesFor(app, tenant)
  await make.user({ phone: null })
  for (let count = 0; count < 5; count += 1) await make.job({ status: count === 1 ? 'FAILED' : 'PENDING' })
})
afterAll(() => app.close())

type Rows = typeof rows

interface Case {
  readonly query?: string
  readonly variables: Record<string, unknown>
}

/** The query of a request to a route, and the variables of the same request on /graphql. */
function caseOf(route: Route, { user, account, job }: Rows): Case {
  const body = bodyOf(route)
  const cases: Record<string, Case> = {
    'POST /users': { variables: { input: body } },
    'GET /users': { query: '?limit=500', variables: { first: 500 } },
    'GET /users/:id': { variables: { id: user.id } },
    'PUT /users/:id': { variables: { input: { id: user.id, ...body } } },
    'DELETE /users/:id': { variables: { input: { id: user.id } } },
    'GET /users/:id/accounts': { variables: { id: user.id } },
    'POST /users/:id/accounts': {
      variables: { input: { userId: user.id, platform: 'TIKTOK', platformAccountId: 'Ada', displayName: 'Ada' } },
    },
    'GET /accounts/:id': { variables: { id: account.id } },
    'DELETE /accounts/:id': { variables: { input: { id: account.id } } },
    'GET /fusion/profiles': { query: `?account_ids=${account.id}`, variables: { accountIds: [account.id] } },
    'POST /fusion/profiles': { query: `?account_ids=${account.id}`, variables: { accountIds: [account.id] } },
    'GET /accounts/:id/profile': { variables: { id: account.id } },
    'GET /accounts/:id/profile/history': {
      query: '?metric=watch_time&interval=week&to=2026-06-01T00:00:00Z',
      variables: { id: account.id, metric: 'WATCH_TIME', interval: 'WEEK', to: '2026-06-01T00:00:00Z' },
    },
    'PUT /accounts/:id/profile': { variables: { input: { accountId: account.id, fullName: 'Ada' } } },
    'POST /fusion/jobs': { variables: { input: { jobType: 'fetch_content', payload: { text: 'Ada' } } } },
    'GET /fusion/jobs': {
      query: '?status=pending&job_type=fetch_content&limit=3',
      variables: { filter: { status: 'PENDING', jobType: 'fetch_content' }, first: 3 },
    },
    'GET /fusion/jobs/:id': { variables: { id: job.id } },
    'POST /fusion/jobs/:id/cancel': { variables: { input: { id: job.id } } },
    'POST /fusion/jobs/:id/retry': { variables: { input: { id: job.id } } },
  }
  const found = cases[`${route.method} ${route.url}`]
  if (!found) throw new Error(`${route.method} ${route.url} has no case in this test`)
  return found
}

/** Masks the ids and times of new, changed and deleted rows, which differ in each run. */
const maskVarying = (body: string) =>
  body.replaceAll(/(?:usr|acc|prf|job)_[\w-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<varies>')

it.each(routes.map((route) => [route.method, route.url, route] as const))(
  '%s %s returns the response of its stored operation on /graphql',
  async (method, url, route) => {
    // A second row for the routes that cannot run twice on one.
    const canRepeat = method !== 'DELETE' && !url.startsWith('/fusion/jobs/:id/')
    const create = () => createOneOfEach(app, tenant, { status: jobStatusFor(route) })
    const other = canRepeat ? rows : await create()
    const of = canRepeat ? rows : await create()
    const { query = '' } = caseOf(route, of)
    const rest = await app.rest(tenant, method, url.replace(':id', idFor(route, of)) + query, bodyOf(route))
    const { data, errors } = await app.graphql(tenant, route.operation, caseOf(route, other).variables)
    expect(errors).toBeUndefined()
    const value = route.response.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], data)
    const expected = toRest('', value)
    if (method === 'DELETE') {
      expect([rest.statusCode, rest.body, expected]).toEqual([204, '', idFor(route, other)])
      return
    }
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
  expect(nodes.length).toBeGreaterThan(500)
  expect((await app.rest(tenant, 'GET', '/users')).body).toBe(JSON.stringify({ users: toRest('', nodes) }))
})
