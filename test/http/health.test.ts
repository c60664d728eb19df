import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

describe('the probes', () => {
  it('/health says that the process is alive, without a statement', async () => {
    const statements = await app.statementsOf(async () => {
      const answer = await app.app.inject({ url: '/health' })
      expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }])
    })
    expect(statements).toEqual([])
  })

  it('/ready says that a query answers and the migrations are applied', async () => {
    const answer = await app.app.inject({ url: '/ready' })
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ready' }])
  })

  it('/ready is 503 while a migration is missing, with the reason in the log and not in the answer', async () => {
    const { prisma } = app.database
    const [migration] = await prisma.$queryRaw<
      { migration_name: string }[]
    >`SELECT migration_name FROM _prisma_migrations`
    await prisma.$executeRaw`UPDATE _prisma_migrations SET rolled_back_at = now()`
    const answer = await app.app.inject({ url: '/ready' })
    await prisma.$executeRaw`UPDATE _prisma_migrations SET rolled_back_at = NULL`
    expect([answer.statusCode, answer.json()]).toEqual([503, { status: 'not ready' }])
    expect(answer.headers['retry-after']).toBe('5')
    expect(JSON.stringify(app.log)).toContain(migration?.migration_name)
  })

  it('/ready is 503 while the database does not answer; /health is 200', async () => {
    const { prisma } = app.database
    await prisma.$executeRaw`ALTER TABLE _prisma_migrations RENAME COLUMN started_at TO away`
    const [ready, health] = [await app.app.inject({ url: '/ready' }), await app.app.inject({ url: '/health' })]
    await prisma.$executeRaw`ALTER TABLE _prisma_migrations RENAME COLUMN away TO started_at`
    expect([ready.statusCode, ready.json(), health.statusCode]).toEqual([503, { status: 'not ready' }, 200])
  })

  it('no path that merely ends in /health answers without a key', async () => {
    for (const url of ['/users/health', '/fusion/jobs/health', '/fusion/jobs/ready', '/graphql?a=/health']) {
      expect((await app.app.inject({ url })).statusCode).toBe(401)
    }
  })
})

describe('the log', () => {
  const lineOf = (requestId: unknown) =>
    app.log.find((line) => line['requestId'] === requestId && line['msg'] === 'request')

  it('has one line a request: who, what, how it went, how long it took, how many statements', async () => {
    // The first use of a key in a minute is noted, which is a statement more.
    await app.rest(tenant, 'GET', '/users/nobody')
    const answer = await app.rest(tenant, 'GET', '/users/nobody')
    expect(lineOf(answer.headers['x-request-id'])).toMatchObject({
      tenant: tenant.tenantAppId,
      key: `key of ${tenant.name}`,
      route: 'GET /users/:id',
      status: 404,
      durationMs: expect.any(Number),
      // The key's and the user's.
      sql: 2,
    })
  })

  it('names the GraphQL operation', async () => {
    const query = 'query Ours { users { nodes { accounts { id } } } }'
    const headers = { 'x-api-key': tenant.key, 'x-request-id': 'named' }
    await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
    expect(lineOf('named')).toMatchObject({ operation: 'Ours', route: 'POST /graphql', status: 200, sql: 2 })
  })

  it('holds no key, no payload and no query string', async () => {
    await app.rest(tenant, 'POST', '/users', {
      name: 'Secret Name',
      email: 'secret@example.com',
      phone: 'secret-phone',
    })
    await app.rest(tenant, 'GET', '/users?cursor=secret-cursor')
    await app.graphql(tenant, 'query { user(id: "secret-id") { id } }')
    await app.graphql(tenant, 'mutation ($i: CreateUserInput!) { createUser(input: $i) { user { id } } }', {
      i: { name: 'Secret Name', email: 'secret@example.com', phone: `${'secret-phone'}` },
    })
    const text = JSON.stringify(app.log)
    expect(text).not.toContain(tenant.key)
    expect(text).not.toMatch(/secret/i)
  })
})
