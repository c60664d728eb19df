import { createValidKeys } from '@fusion-gateway/auth'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createAttempt } from '../../src/domain/webhook/delivery/attempt.ts'
import { type DelivererOptions, startDeliverer } from '../../src/domain/webhook/delivery/deliverer.ts'
import { createSender } from '../../src/domain/webhook/delivery/send.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { type Receiver, silentLog, startReceiver, webhookClient } from '../support/webhooks.ts'

// Endpoints that hang do so for the whole test. If they had the places of others, the test would not end.

const events = 100

let app: TestApp
let stop: (graceMilliseconds: number) => Promise<void>
const receivers: Receiver[] = []

beforeAll(async () => {
  app = await startTestApp()
})
afterEach(async () => {
  await stop(0)
  for (const receiver of receivers.splice(0)) await receiver.close()
})
afterAll(() => app.close())

/** Starts to deliver. One tenant gets about half of the places. */
function deliver(concurrency: number): void {
  const { services, database } = app
  const { send } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 3_600_000 })
  const { secrets } = services.webhooks
  if (!secrets) throw new Error('The gateway has no key for secrets')
  const keys = createValidKeys(database, silentLog, 0)
  const runQuery = () => Promise.reject(new Error('No webhook has a query'))
  const attempt = createAttempt({ services, runQuery, keys, secrets, send, log: silentLog })
  const { deliveries, events } = services
  const attemptOne: DelivererOptions['attempt'] = (claimed, signal) => attempt(claimed, signal, database.sql)
  stop = startDeliverer({ deliveries, events, attempt: attemptOne, log: silentLog, concurrency })
}

/** Starts an endpoint and a webhook for it. */
async function subscribe(tenant: TestTenant, ...respond: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...respond)
  receivers.push(receiver)
  await webhookClient(app, tenant).create(receiver.url)
  return receiver
}

async function createUsers({ tenantAppId }: Pick<TestTenant, 'tenantAppId'>, count = events): Promise<void> {
  await app.database.prisma.$executeRaw`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT ${tenantAppId}, 'usr_' || number, 'n', 'e', now() FROM generate_series(1, ${count}::int) AS number`
}

/** Creates webhooks whose deliveries nothing sends. */
async function insertWebhooks(tenantAppId: string, count: number): Promise<void> {
  const data = Array.from({ length: count }, (_, number) => ({
    tenantAppId,
    id: `whk_${number}`,
    url: 'http://127.0.0.1:9',
    eventTypes: ['USER_CREATED'],
    keyId: 'key_1',
    scopes: [],
    secret: '',
    cursor: '',
  }))
  await app.database.prisma.webhook.createMany({ data })
}

const idsOf = ({ messages }: Receiver) => new Set(messages.map(({ headers }) => headers['webhook-id']))

it('endpoints that hang, fail, redirect and send without an end delay no other endpoint of the tenant', async () => {
  deliver(40)
  const tenant = await app.createTenant()
  const hanging = await subscribe(tenant, () => undefined)
  const alsoHanging = await subscribe(tenant, (response) => void response.writeHead(100))
  const failing = await subscribe(tenant, (response) => response.writeHead(500).end())
  await subscribe(tenant, (response) => response.writeHead(302, { location: 'http://127.0.0.1:9' }).end())
  await subscribe(tenant, (response) => {
    const write = () => void (response.write(Buffer.alloc(64 * 1024)) && setImmediate(write))
    response.writeHead(200).on('drain', write)
    write()
  })
  const good = [await subscribe(tenant), await subscribe(tenant), await subscribe(tenant)]
  await createUsers(tenant)
  for (const receiver of good) {
    await receiver.received(events)
    expect(idsOf(receiver).size).toBe(events)
  }
  expect(hanging.messages.length).toBeLessThanOrEqual(8)
  expect(alsoHanging.messages.length).toBeLessThanOrEqual(8)
  expect(failing.messages.length).toBeGreaterThan(0)
})

it('a tenant whose endpoints all hang delays no other tenant', async () => {
  deliver(20)
  const hostile = await app.createTenant()
  for (let number = 0; number < 6; number += 1) await subscribe(hostile, () => undefined)
  await createUsers(hostile)
  const tenant = await app.createTenant()
  const good = await subscribe(tenant)
  await createUsers(tenant)
  await good.received(events)
  expect(idsOf(good).size).toBe(events)
})

it('a tenant with 50 webhooks and many unread events delays the events of no other tenant', async () => {
  const { tenantAppId: first } = await app.createTenant()
  const { tenantAppId: second } = await app.createTenant()
  // The first one in the order of keys is the busy one.
  const [busy, quiet] = [first, second].sort() as [string, string]
  await insertWebhooks(busy, 50)
  await insertWebhooks(quiet, 1)
  await createUsers({ tenantAppId: busy }, 1_000)
  await createUsers({ tenantAppId: quiet }, 1)
  await settleEvents(app)
  await app.services.deliveries.fanOut()
  const { prisma } = app.database
  expect(await prisma.webhookDelivery.count({ where: { tenantAppId: quiet } })).toBe(1)
  // A round puts a page of events into the deliveries of five webhooks of each tenant.
  expect(await prisma.webhookDelivery.count({ where: { tenantAppId: busy } })).toBe(5 * 500)
})
