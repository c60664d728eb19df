import { createValidKeys } from '@fusion-gateway/auth'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { resumeTenant, suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { createAttempt } from '../../src/domain/webhook/delivery/attempt.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { type Receiver, silentLog, startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant
let receiver: Receiver
let stop: (() => Promise<void>) | undefined

beforeAll(async () => {
  app = await startTestApp()
})
beforeEach(async () => {
  tenant = await app.createTenant()
  other = await app.createTenant()
  receiver = await startReceiver()
})
afterEach(async () => {
  await stop?.()
  stop = undefined
  await receiver.close()
})
afterAll(() => app.close())

const suspend = () => suspendTenant(app.database, { id: tenant.tenantAppId })

async function resume(): Promise<void> {
  const where = { id: tenant.tenantAppId }
  await resumeTenant(app.database, await app.database.prisma.tenantApp.findUniqueOrThrow({ where }))
}

const received = async (count: number) =>
  (await receiver.received(count)).map(({ body }) => JSON.parse(body).data.resourceId)

it('webhooks of a suspended tenant get nothing, and every event when it is resumed', async () => {
  await webhookClient(app, tenant).create(receiver.url)
  await webhookClient(app, other).create(receiver.url)
  const make = factoriesFor(app, tenant)
  const before = await make.user()
  await suspend()
  // An import can write meanwhile.
  const meanwhile = await make.user()
  const ofOther = await factoriesFor(app, other).user()
  stop = startDeliveriesOf(app)
  expect(await received(1)).toEqual([ofOther.id])
  await settleEvents(app)
  await expect
    .poll(() => app.database.prisma.webhookDelivery.count({ where: { tenantAppId: tenant.tenantAppId } }))
    .toBe(2)
  expect(receiver.messages).toHaveLength(1)
  await resume()
  const all = new Set(await received(3))
  expect(all).toEqual(new Set([ofOther.id, before.id, meanwhile.id]))
})

it('a delivery is not due while its tenant is suspended, and one that was claimed just before uses no attempt', async () => {
  const webhook = await webhookClient(app, tenant).create(receiver.url)
  await factoriesFor(app, tenant).user()
  await settleEvents(app)
  const { deliveries, metrics, webhooks } = app.services
  await deliveries.fanOut()
  expect(await deliveries.listDue()).toContain(tenant.tenantAppId)
  await suspend()
  expect(await deliveries.listDue()).not.toContain(tenant.tenantAppId)
  await resume()
  const [claimed] = await deliveries.claim(tenant.tenantAppId, 1, 60)
  await suspend()
  if (!claimed || !webhooks.secrets) throw new Error('Nothing was claimed')
  const unused = () => Promise.reject(new Error('Nothing may be sent'))
  const attempt = createAttempt({
    services: { metrics },
    runQuery: unused,
    keys: createValidKeys(app.database, silentLog, 0),
    secrets: webhooks.secrets,
    send: unused,
    log: silentLog,
  })
  const end = await attempt(claimed, new AbortController().signal, app.database.sql)
  expect(end).toMatchObject({ status: 'PENDING', isFree: true, error: expect.stringContaining('suspended') })
  await deliveries.record([{ ...claimed, ...end }])
  expect(await app.database.prisma.webhook.findFirst({ where: { id: webhook.id } })).toMatchObject({ enabled: true })
  await resume()
  expect(await webhookClient(app, tenant).deliveries(webhook.id)).toMatchObject([{ status: 'PENDING', attempts: 0 }])
})

it('the time of a suspension is no time in which a webhook of the tenant fails', async () => {
  const { id } = await webhookClient(app, tenant).create(receiver.url)
  const ofOther = await factoriesFor(app, other).webhook({ failingSince: new Date(0) })
  const { prisma } = app.database
  const hours = (count: number) => new Date(Date.now() - count * 3_600_000)
  await suspend()
  await prisma.tenantApp.update({ where: { id: tenant.tenantAppId }, data: { suspendedAt: hours(200) } })
  await prisma.webhook.updateMany({ where: { id }, data: { failingSince: hours(210) } })
  await resume()
  const { failingSince } = await prisma.webhook.findFirstOrThrow({ where: { id } })
  expect(Number(failingSince) - Number(hours(10))).toBeLessThan(60_000)
  expect(Number(failingSince) - Number(hours(10))).toBeGreaterThan(-60_000)
  expect(await prisma.webhook.findFirst({ where: { id: ofOther.id } })).toMatchObject({ failingSince: new Date(0) })
})
