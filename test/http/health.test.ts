import { measureReadiness } from '@fusion-gateway/telemetry'
import { Registry } from '@prometheus-io/client'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const ready = () => app.app.inject({ url: '/ready' })

afterEach(() => void vi.restoreAllMocks())

let now = 0

/** Sets a clock that stands still, later than it stood before, and returns the function that moves it on. */
function stopClock(): (milliseconds: number) => void {
  now = Math.max(now, performance.now())
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  return (milliseconds) => {
    now += milliseconds
  }
}

/** A check serves everyone for a second, so another result is seen later. */
async function untilReady(status: number): Promise<void> {
  stopClock()(1_001)
  expect((await ready()).statusCode).toBe(status)
}

describe('the probes', () => {
  it('/health answers 200 without a statement', async () => {
    const statements = await app.statementsOf(async () => {
      const response = await app.app.inject({ url: '/health' })
      expect([response.statusCode, response.json()]).toEqual([200, { status: 'ok' }])
    })
    expect(statements).toEqual([])
  })

  it('/ready answers 200 if the database answers and has every migration', async () => {
    const response = await ready()
    expect([response.statusCode, response.json()]).toEqual([200, { status: 'ready' }])
  })

  it('/ready checks the database once a second for everyone', async () => {
    const pass = stopClock()
    const checksAfter = async (milliseconds: number) => {
      pass(milliseconds)
      const statements = await app.statementsOf(async () => {
        const responses = await Promise.all(Array.from({ length: 50 }, ready))
        expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
      })
      return statements.filter((sql) => sql.includes('FROM _prisma_migrations')).length
    }
    const checks = [await checksAfter(10_000), await checksAfter(999), await checksAfter(2), await checksAfter(998)]
    expect(checks).toEqual([1, 0, 1, 0])
  })

  it('/ready answers 503 while a migration is missing, and names the reason only in the log', async () => {
    const { prisma, runAsOwner } = app.database
    const [migration] = await prisma.$queryRaw<
      { migration_name: string }[]
    >`SELECT migration_name FROM _prisma_migrations`
    await runAsOwner('UPDATE _prisma_migrations SET rolled_back_at = now()')
    await untilReady(503)
    const response = await ready()
    await runAsOwner('UPDATE _prisma_migrations SET rolled_back_at = NULL')
    expect([response.statusCode, response.json()]).toEqual([503, { status: 'not ready' }])
    expect(response.headers['retry-after']).toBe('5')
    expect(JSON.stringify(app.log)).toContain(migration?.migration_name)
  })

  it('/ready answers 200 while a newer version applies its migrations, or has failed to', async () => {
    const { runAsOwner } = app.database
    await runAsOwner(`
      INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at) VALUES ('newer', '', '99990101000000_newer', now())`)
    // Not the result of a check before.
    stopClock()(1_001)
    const response = await ready()
    await runAsOwner("DELETE FROM _prisma_migrations WHERE id = 'newer'")
    expect(response.statusCode).toBe(200)
  })

  it('/ready answers 503 and /health answers 200 while the database fails', async () => {
    const { runAsOwner } = app.database
    await runAsOwner('ALTER TABLE _prisma_migrations RENAME COLUMN started_at TO away')
    await untilReady(503)
    const [response, health] = [await ready(), await app.app.inject({ url: '/health' })]
    await runAsOwner('ALTER TABLE _prisma_migrations RENAME COLUMN away TO started_at')
    expect([response.statusCode, response.json(), health.statusCode]).toEqual([503, { status: 'not ready' }, 200])
  })

  it('have a metric that is right although nobody asks /ready', async () => {
    const registry = new Registry()
    measureReadiness({ registry }, app.app.isReady)
    const pass = stopClock()
    const shown = async () => {
      pass(1_001)
      return /^fusion_ready \d$/m.exec(await registry.metrics())?.[0]
    }
    const { runAsOwner } = app.database
    expect(await shown()).toBe('fusion_ready 1')
    await runAsOwner('ALTER TABLE _prisma_migrations RENAME COLUMN started_at TO away')
    expect(await shown()).toBe('fusion_ready 0')
    await runAsOwner('ALTER TABLE _prisma_migrations RENAME COLUMN away TO started_at')
    expect(await shown()).toBe('fusion_ready 1')
  })

  it('have a metric that is 0 while the check does not end, and does not wait for it', async () => {
    const registry = new Registry()
    measureReadiness({ registry }, () => new Promise(() => undefined))
    expect(await registry.metrics()).toContain('fusion_ready 0')
  })

  it('do not include other paths that end in /health or /ready, which need a key', async () => {
    for (const url of ['/users/health', '/fusion/jobs/health', '/fusion/jobs/ready', '/graphql?a=/health']) {
      expect((await app.app.inject({ url })).statusCode).toBe(401)
    }
  })
})

describe('the log', () => {
  const lineOf = (requestId: unknown) =>
    app.log.find((line) => line['requestId'] === requestId && line['msg'] === 'request')

  it('has one line per request with the tenant, key, route, status, duration and number of statements', async () => {
    // The first request of a key in a minute sends one more statement, which stores the time of the last use.
    await app.rest(tenant, 'GET', '/users/nobody')
    const response = await app.rest(tenant, 'GET', '/users/nobody')
    expect(lineOf(response.headers['x-request-id'])).toMatchObject({
      tenant: tenant.tenantAppId,
      key: `key of ${tenant.name}`,
      route: 'GET /users/:id',
      status: 404,
      durationMs: expect.any(Number),
      // One statement for the key and one for the user.
      sql: 2,
    })
  })

  it('contains the name of the GraphQL operation', async () => {
    const query = 'query Ours { users { nodes { accounts { id } } } }'
    const headers = { 'x-api-key': tenant.key, 'x-request-id': 'named' }
    await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
    expect(lineOf('named')).toMatchObject({ operation: 'Ours', route: 'POST /graphql', status: 200, sql: 2 })
  })

  it('contains no key, no payload, no query string and no path without a route', async () => {
    const bad = ['/secret-path', '/users/secret/path', '/%secret', '/graphql/secret']
    for (const url of bad) {
      const { headers } = await app.app.inject({ url, method: 'PUT' })
      expect(lineOf(headers['x-request-id']), url).toMatchObject({ route: 'unknown' })
    }
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
