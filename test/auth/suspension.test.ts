import { generateApiKey } from '@fusion-gateway/auth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resumeTenant, suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { completion, type Transport, transports } from '../support/transports.ts'
import { initSocket, openSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
})
afterAll(() => app.close())

const suspend = () => suspendTenant(app.database, { id: tenant.tenantAppId })

async function resume(): Promise<void> {
  await resumeTenant(
    app.database,
    await app.database.prisma.tenantApp.findUniqueOrThrow({ where: { id: tenant.tenantAppId } }),
  )
}

async function createToken(): Promise<string> {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation { createAccessToken(input: {}) { accessToken } }',
  )
  return data.createAccessToken.accessToken
}

const message = 'The tenant is suspended. The operator of the gateway can resume it.'

describe('a suspended tenant', () => {
  it('gets 403 with its own code for its keys and tokens, until it is resumed', async () => {
    const ofToken = { ...tenant, token: await createToken() }
    await suspend()
    for (const holder of [tenant, ofToken]) {
      const rest = await app.rest(holder, 'GET', '/users')
      expect([rest.statusCode, rest.headers['content-type']]).toEqual([403, 'application/problem+json; charset=utf-8'])
      expect(rest.json()).toMatchObject({ code: 'TENANT_SUSPENDED', title: 'Tenant suspended', detail: message })
      const created = await app.rest(holder, 'POST', '/users', {
        name: 'Ada',
        email: 'ada@example.com',
        phone: '+1 555 0100',
      })
      expect(created.json()).toMatchObject({ status: 403, code: 'TENANT_SUSPENDED' })
      const graphql = await app.graphql(holder, '{ viewer { keyName } }')
      expect(graphql).toEqual({ errors: [{ message, extensions: { code: 'TENANT_SUSPENDED' } }] })
    }
    expect((await app.rest(other, 'GET', '/users')).statusCode).toBe(200)
    await resume()
    for (const holder of [tenant, ofToken]) expect((await app.rest(holder, 'GET', '/users')).json().users).toEqual([])
  })

  it('is told so for a valid key only, and the time of its last use stays', async () => {
    await suspend()
    const before = await app.database.prisma.apiKey.findMany()
    await app.database.prisma.apiKey.updateMany({ data: { lastUsedAt: new Date(0) } })
    expect((await app.rest({ ...tenant, key: generateApiKey() }, 'GET', '/users')).statusCode).toBe(401)
    expect((await app.rest(tenant, 'GET', '/users')).statusCode).toBe(403)
    const [key] = await app.database.prisma.apiKey.findMany({ where: { tenantAppId: tenant.tenantAppId } })
    expect([before.length, key?.lastUsedAt]).toEqual([2, new Date(0)])
    await resume()
  })

  it('costs a statement in three seconds, however often it asks', async () => {
    const cached = await app.startAnother({ keyCacheMilliseconds: 3_000 })
    await suspend()
    const before = app.lookups()
    for (let count = 0; count < 5; count += 1) expect((await cached.rest(tenant, 'GET', '/users')).statusCode).toBe(403)
    expect(app.lookups() - before).toBe(1)
    await cached.close()
    await resume()
  })

  it.each(Object.keys(transports) as Transport[])('loses its subscriptions, with the error: %s', async (name) => {
    const followed = 'subscription { events { id } }'
    const address = await addressOf(app)
    const { ending } = await transports[name](address, tenant.key, followed)
    const undisturbed = await transports[name](address, other.key, followed)
    await suspend()
    const { text, end } = await ending
    if (name === 'WebSocket') expect(end).toBe('4403')
    else {
      expect(end).toContain('whole')
      expect(text).toContain('TENANT_SUSPENDED')
      expect(text).toMatch(completion)
    }
    await app.rest(other, 'POST', '/users', { name: 'Ada', email: 'ada@example.com', phone: '+1 555 0100' })
    await undisturbed.until('evt_')
    await resume()
  })

  it('has its WebSockets closed with the reason, and new ones refused', async () => {
    const address = await addressOf(app)
    const client = await initSocket(address, tenant.key)
    await suspend()
    expect(await client.closed).toEqual({ code: 4403, reason: message })
    const refused = await openSocket(address)
    refused.send({ type: 'connection_init', payload: { 'x-api-key': tenant.key } })
    expect(await refused.closed).toEqual({ code: 4403, reason: message })
    await resume()
    await initSocket(address, tenant.key)
  })
})
