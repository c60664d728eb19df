import { createRateLimit } from '@fusion-gateway/limits'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createKey, revokeKey, rotateKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import {
  type ReceivedMessage,
  type Receiver,
  type ShownDelivery,
  silentLog,
  startDeliveriesOf,
  startReceiver,
  webhookClient,
} from '../support/webhooks.ts'

let app: TestApp
let tenant: TestTenant
let client: ReturnType<typeof webhookClient>
let create: ReturnType<typeof factoriesFor>
const receivers: Receiver[] = []
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  app = await startTestApp()
})
beforeEach(async () => {
  tenant = await app.createTenant()
  client = webhookClient(app, tenant)
  create = factoriesFor(app, tenant)
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  for (const receiver of receivers.splice(0)) await receiver.close()
})
afterAll(() => app.close())

async function receive(...respond: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...respond)
  receivers.push(receiver)
  return receiver
}

function deliver(
  ...options: Parameters<typeof startDeliveriesOf> extends [unknown, ...infer Rest] ? Rest : never
): void {
  stops.push(startDeliveriesOf(app, ...options))
}

/** Waits until the newest delivery of a webhook meets the condition. */
async function untilDelivery(id: string, isMet: (delivery: ShownDelivery) => boolean): Promise<ShownDelivery> {
  for (;;) {
    const [newest] = await client.deliveries(id)
    if (newest && newest.status !== 'RUNNING' && isMet(newest)) return newest
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const attempted = ({ attempts }: ShownDelivery) => attempts > 0

/** Waits until the gateway has disabled a webhook, and returns why. */
async function untilDisabled(id: string): Promise<string | null> {
  for (;;) {
    const { enabled, disabledReason } = await client.show(id)
    if (!enabled) return disabledReason
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const verify = (secret: string, { body, headers }: ReceivedMessage) =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>

/** Seconds from now by the clock of the database, which tests must not wait for. */
async function secondsUntilNext(): Promise<number> {
  const [row] = await app.database.prisma.$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM next_attempt_at - updated_at)::float8 AS seconds FROM webhook_delivery
    WHERE tenant_app_id = ${tenant.tenantAppId}`
  return row?.seconds ?? Number.NaN
}

const makeDue = () =>
  app.database.prisma.webhookDelivery.updateMany({
    where: { tenantAppId: tenant.tenantAppId, status: 'PENDING' },
    data: { nextAttemptAt: new Date(0) },
  })

describe('a message', () => {
  beforeEach(() => deliver())

  it('is signed as Standard Webhooks says, has the event, and is sent once', async () => {
    const receiver = await receive()
    const { id, secret } = await client.create(receiver.url)
    const { data } = await app.graphql<{ createUser: { user: { id: string } } }>(
      tenant,
      'mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }',
    )
    const userId = data.createUser.user.id
    await app.graphql(tenant, 'mutation ($id: ID!) { updateUser(input: { id: $id, name: "Eve" }) { user { id } } }', {
      id: userId,
    })
    await create.user({ id: 'usr_last' })
    const [message] = (await receiver.received(2)) as [ReceivedMessage]
    const delivered = await untilDelivery(id, ({ status }) => status === 'SUCCEEDED')
    expect(delivered).toMatchObject({
      eventType: 'USER_CREATED',
      attempts: 1,
      responseStatus: 204,
      nextAttemptAt: null,
    })
    const first = receiver.messages.find(({ body }) => body.includes(userId)) ?? message
    const event = verify(secret, first)
    expect(first.headers['content-type']).toBe('application/json')
    expect(event).toEqual({
      type: 'user.created',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        id: first.headers['webhook-id'],
        type: 'USER_CREATED',
        resourceId: userId,
        userId,
        createdAt: event['timestamp'],
        keyId: tenant.keyId,
        requestId: expect.any(String),
      },
    })
    expect((await client.deliveries(id)).map(({ eventType }) => eventType)).toEqual(['USER_CREATED', 'USER_CREATED'])
    expect(() => verify('whsec_c2VjcmV0', first)).toThrow()
    expect(() => verify(secret, { ...first, body: first.body.replace('USER', 'user') })).toThrow()
  })

  it('has two signatures for 24 hours after the secret was rotated', async () => {
    const receiver = await receive()
    const { id, secret: old } = await client.create(receiver.url)
    const { secret } = await client.call('rotateWebhookSecret', { id })
    await create.user()
    const [first] = (await receiver.received(1)) as [ReceivedMessage]
    for (const one of [old, secret ?? '']) expect(verify(one, first)).toMatchObject({ type: 'user.created' })
    const [row] = await app.database.prisma.$queryRaw<{ hours: number }[]>`
      SELECT extract(epoch FROM previous_secret_until - updated_at)::float8 / 3600 AS hours FROM webhook WHERE id = ${id}`
    expect(row?.hours).toBeCloseTo(24, 1)
    await app.database.prisma.webhook.updateMany({ where: { id }, data: { previousSecretUntil: new Date(0) } })
    await create.user()
    const [, second] = (await receiver.received(2)) as [ReceivedMessage, ReceivedMessage]
    expect(verify(secret ?? '', second)).toMatchObject({ type: 'user.created' })
    expect(() => verify(old, second)).toThrow()
  })

  it('has the data of the query of the webhook, and null for what is deleted', async () => {
    const receiver = await receive()
    const query = 'query ($id: ID!) { user(id: $id) { name accounts { displayName } } }'
    await client.create(receiver.url, { query, eventTypes: ['USER_CREATED', 'USER_DELETED'] })
    const { id } = await create.user({ name: 'Ada' })
    const [created] = (await receiver.received(1)) as [ReceivedMessage]
    expect(JSON.parse(created.body)['data']).toEqual({ user: { name: 'Ada', accounts: [] } })
    await app.database.prisma.user.deleteMany({ where: { id } })
    const [, deleted] = (await receiver.received(2)) as [ReceivedMessage, ReceivedMessage]
    expect(JSON.parse(deleted.body)).toMatchObject({ type: 'user.deleted', data: { user: null } })
  })

  it('is only about the tenant of the webhook', async () => {
    const receiver = await receive()
    const { id } = await client.create(receiver.url)
    await factoriesFor(app, await app.createTenant()).user({ id: 'usr_theirs' })
    await create.user({ id: 'usr_mine' })
    const [message] = (await receiver.received(1)) as [ReceivedMessage]
    expect(JSON.parse(message.body)).toMatchObject({ data: { resourceId: 'usr_mine' } })
    expect(receiver.messages).toHaveLength(1)
    expect(await client.deliveries(id)).toHaveLength(1)
  })

  it('is sent again when a client asks for it, by its id or after another event', async () => {
    const receiver = await receive()
    const { id: webhookId } = await client.create(receiver.url)
    for (const id of ['usr_a', 'usr_b', 'usr_c']) await create.user({ id })
    await receiver.received(3)
    const events = (await client.deliveries(webhookId)).map(({ eventId }) => eventId).toSorted()
    const sent = () => receiver.messages.slice(3).map(({ headers }) => headers['webhook-id'])
    await client.call('redeliverEvents', { webhookId, events: { eventIds: [events[1]] } })
    await receiver.received(4)
    expect(sent()).toEqual([events[1]])
    await client.call('redeliverEvents', { webhookId, events: { after: events[0] } })
    await receiver.received(6)
    expect(sent().slice(1).toSorted()).toEqual([events[1], events[2]])
    expect(await client.deliveries(webhookId)).toHaveLength(3)
  })

  it('is found by its state', async () => {
    const { id } = await client.create('https://example.com')
    await app.database.prisma.webhookDelivery.createMany({
      data: (['FAILED', 'SUCCEEDED', 'FAILED', 'RUNNING'] as const).map((status, index) => ({
        tenantAppId: tenant.tenantAppId,
        id: `dlv_${status}_${index}`,
        webhookId: id,
        eventId: `evt_${index}`,
        eventType: 'USER_CREATED',
        status,
      })),
    })
    const query = `query ($id: ID!, $filter: WebhookDeliveryFilter) {
      webhook(id: $id) { deliveries(filter: $filter) { nodes { id } } }
    }`
    const found = async (filter: object | null) => {
      const { data } = await app.graphql<{ webhook: { deliveries: { nodes: { id: string }[] } } }>(tenant, query, {
        id,
        filter,
      })
      return data.webhook.deliveries.nodes.map((delivery) => delivery.id).toSorted()
    }
    expect(await found({ status: 'FAILED' })).toEqual(['dlv_FAILED_0', 'dlv_FAILED_2'])
    expect(await found({ statuses: ['RUNNING', 'SUCCEEDED'] })).toEqual(['dlv_RUNNING_3', 'dlv_SUCCEEDED_1'])
    expect(await found({ statuses: [] })).toEqual([])
    expect(await found(null)).toHaveLength(4)
  })
})

describe('a failed attempt', () => {
  beforeEach(() => deliver())

  it('is followed by another after 5 to 10 seconds, with the same id', async () => {
    let status = 500
    const receiver = await receive((response) => response.writeHead(status).end())
    const { id, secret } = await client.create(receiver.url)
    await create.user()
    expect(await untilDelivery(id, attempted)).toMatchObject({
      status: 'PENDING',
      attempts: 1,
      responseStatus: 500,
      error: 'status 500',
    })
    const seconds = await secondsUntilNext()
    expect(seconds).toBeGreaterThanOrEqual(5)
    expect(seconds).toBeLessThanOrEqual(10)
    status = 200
    await makeDue()
    expect(await untilDelivery(id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({ attempts: 2, error: null })
    const [first, second] = (await receiver.received(2)) as [ReceivedMessage, ReceivedMessage]
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    expect(verify(secret, second)).toEqual(verify(secret, first))
    const row = await app.database.prisma.webhook.findFirstOrThrow({ where: { id } })
    expect(row.failingSince).toBeNull()
  })

  it.each([
    ['120', 120, 121],
    ['1', 5, 10],
    [new Date(Date.now() + 3_600_000).toUTCString(), 3_000, 3_601],
    ['999999999', 86_400, 86_401],
  ])('is followed by another not before Retry-After says, up to a day: %s', async (retryAfter, min, max) => {
    const receiver = await receive((response) => response.writeHead(503, { 'retry-after': retryAfter }).end())
    const { id } = await client.create(receiver.url)
    await create.user()
    await untilDelivery(id, attempted)
    const seconds = await secondsUntilNext()
    expect(seconds).toBeGreaterThanOrEqual(min - 0.1)
    expect(seconds).toBeLessThanOrEqual(max)
  })

  it('is the last one if it is the tenth', async () => {
    const receiver = await receive((response) => response.writeHead(500).end())
    const { id } = await client.create(receiver.url)
    await create.user()
    await untilDelivery(id, attempted)
    const where = { tenantAppId: tenant.tenantAppId }
    await app.database.prisma.webhookDelivery.updateMany({ where, data: { attempts: 9, nextAttemptAt: new Date(0) } })
    expect(await untilDelivery(id, ({ attempts }) => attempts === 10)).toMatchObject({
      status: 'FAILED',
      nextAttemptAt: null,
    })
  })

  it('is a redirect, which is not followed', async () => {
    const receiver = await receive((response) => response.writeHead(307, { location: '/elsewhere' }).end())
    const { id } = await client.create(receiver.url)
    await create.user()
    const { error, responseStatus } = await untilDelivery(id, attempted)
    expect({ error, responseStatus }).toEqual({ error: 'status 307: redirects are not followed', responseStatus: 307 })
    expect(receiver.messages.map(({ path }) => path)).toEqual(['/hook'])
  })

  it('has an error that says why there was no response', async () => {
    const receiver = await receive()
    const { id } = await client.create(receiver.url)
    await receiver.close()
    await create.user()
    expect(await untilDelivery(id, attempted)).toMatchObject({
      error: 'no response: ECONNREFUSED',
      responseStatus: null,
    })
  })

  it('is a query that has errors', async () => {
    const receiver = await receive()
    const query = 'query ($id: ID!) { node(id: $id) { id } }'
    const mutation =
      'mutation { createAccessToken(input: { scopes: ["webhooks:write", "users:read"] }) { accessToken } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(tenant, mutation)
    // The key of the token may read jobs, but not the token that made the webhook.
    const holder = webhookClient(app, { ...tenant, token: data.createAccessToken.accessToken })
    const { id } = await holder.create(receiver.url, { query, eventTypes: ['JOB_CREATED'] })
    await create.job()
    const { status, error } = await untilDelivery(id, attempted)
    expect({ status, error }).toEqual({ status: 'PENDING', error: 'the query failed: This needs the scope jobs:read.' })
    expect(receiver.messages).toEqual([])
  })
})

it('Retry-After holds back all events for the endpoint, which use no attempt meanwhile', async () => {
  deliver()
  const receiver = await receive((response) => response.writeHead(429, { 'retry-after': '3600' }).end())
  const { id } = await client.create(receiver.url)
  const { id: sameUrl } = await client.create(receiver.url, { eventTypes: ['USER_UPDATED'] })
  const { id: other } = await client.create((await receive()).url)
  await create.user({ id: 'usr_1' })
  await untilDelivery(id, attempted)
  for (const stop of stops.splice(0)) await stop()

  await create.user({ id: 'usr_2' })
  const { prisma } = app.database
  await prisma.user.updateMany({ where: { id: 'usr_2' }, data: { name: 'Eve' } })
  await settleEvents(app)
  const { deliveries } = app.services
  while (await deliveries.fanOut());
  // The delivery that got the response is due, too. Only its own time would not hold it back.
  await makeDue()
  const claimed = async () => {
    const own = await deliveries.claim(tenant.tenantAppId, 20, 60)
    return own.map(({ webhook, attempt }) => [webhook.id, attempt]).sort()
  }
  expect(new Set((await claimed()).map(([webhook]) => webhook))).toEqual(new Set([other]))
  expect((await client.deliveries(id)).map(({ status, attempts }) => [status, attempts])).toEqual([
    ['PENDING', 0],
    ['PENDING', 1],
  ])
  const { data } = await app.graphql<{ webhook: { pausedUntil: string } }>(
    tenant,
    'query ($id: ID!) { webhook(id: $id) { pausedUntil } }',
    { id: sameUrl },
  )
  const seconds = (Date.parse(data.webhook.pausedUntil) - Date.now()) / 1_000
  expect(seconds).toBeGreaterThan(3_000)
  expect(seconds).toBeLessThanOrEqual(3_601)

  // A client can end the wait.
  await client.call('updateWebhook', { id: sameUrl, enabled: true })
  expect(await claimed()).toEqual([[sameUrl, 1]])
  await prisma.webhook.updateMany({ where: { id }, data: { pausedUntil: new Date(0) } })
  // A failing endpoint gets one message at a time.
  expect(await claimed()).toHaveLength(1)
})

it('a long response is not read', async () => {
  deliver()
  let written = 0
  const ended = Promise.withResolvers<void>()
  const receiver = await receive((response) => {
    response.writeHead(200)
    const chunk = Buffer.alloc(64 * 1024)
    const write = () => {
      if (written > 100 * 1024 * 1024) return void response.end()
      written += chunk.length
      if (response.write(chunk)) setImmediate(write)
    }
    response.on('drain', write).once('close', ended.resolve)
    write()
  })
  const { id } = await client.create(receiver.url)
  await create.user()
  await ended.promise
  expect(written).toBeLessThan(50 * 1024 * 1024)
  expect(await untilDelivery(id, attempted)).toMatchObject({ status: 'SUCCEEDED', responseStatus: 200 })
})

it('an address that is not public is refused', async () => {
  deliver({ fetchPrivateNetworks: false })
  const receiver = await receive()
  const { id } = await client.create(receiver.url)
  await create.user()
  expect(await untilDelivery(id, attempted)).toMatchObject({ status: 'PENDING', error: 'the address is not public' })
  expect(receiver.messages).toEqual([])
})

it('the query is paid for with the points of the tenant; without points the delivery waits and no attempt counts', async () => {
  deliver({ rateLimit: createRateLimit(1, { log: silentLog }) })
  const receiver = await receive()
  const query = 'query ($id: ID!) { user(id: $id) { name } }'
  const { id } = await client.create(receiver.url, { query })
  await create.user()
  await receiver.received(1)
  await create.user()
  const waiting = await untilDelivery(id, ({ error }) => error !== null)
  expect(waiting).toMatchObject({ status: 'PENDING', attempts: 0, error: expect.stringContaining('points') })
  expect(receiver.messages).toHaveLength(1)
})

describe('a webhook is disabled', () => {
  beforeEach(() => deliver())

  it('by status 410; enabled again, it continues where it stopped', async () => {
    let status = 410
    const receiver = await receive((response) => response.writeHead(status).end())
    const { id } = await client.create(receiver.url)
    await create.user({ id: 'usr_1' })
    expect(await untilDisabled(id)).toBe('The endpoint responded with 410 Gone.')
    // Other tests on the server can have transactions open.
    await settleEvents(app)
    const { data } = await app.graphql<{ events: { nodes: object[] } }>(
      tenant,
      '{ events(filter: { types: [WEBHOOK_DISABLED] }) { nodes { resourceId node { id } } } }',
    )
    expect(data.events.nodes).toEqual([{ resourceId: id, node: { id } }])
    await create.user({ id: 'usr_2' })
    status = 200
    const enabled = await client.call('updateWebhook', { id, enabled: true })
    expect(enabled.webhook).toMatchObject({ enabled: true, disabledReason: null })
    await makeDue()
    await receiver.received(3)
    const sent = receiver.messages.slice(1).map(({ body }) => JSON.parse(body)['data'].resourceId)
    expect(sent.toSorted()).toEqual(['usr_1', 'usr_2'])
  })

  it('but not by a response of the endpoint that it had before', async () => {
    const next = await receive()
    let id = ''
    const before = await receive(async (response) => {
      await client.call('updateWebhook', { id, url: next.url })
      response.writeHead(410).end()
    })
    id = (await client.create(before.url)).id
    await create.user({ id: 'usr_moved' })
    await untilDelivery(id, attempted)
    expect(await client.show(id)).toMatchObject({ enabled: true, url: next.url })
    await makeDue()
    expect(await next.received(1)).toHaveLength(1)
  })

  it('after five days without a success', async () => {
    const receiver = await receive((response) => response.writeHead(500).end())
    const { id } = await client.create(receiver.url)
    await create.user()
    await untilDelivery(id, attempted)
    expect(await client.show(id)).toMatchObject({ enabled: true })
    const past = new Date(Date.now() - 5.1 * 86_400_000)
    await app.database.prisma.webhook.updateMany({ where: { id }, data: { failingSince: past } })
    await makeDue()
    expect(await untilDisabled(id)).toBe('Every attempt of the last five days has failed.')
  })

  it('with its key; another webhook can be told', async () => {
    const receiver = await receive()
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'leaked' })
    const { id } = await webhookClient(app, { ...tenant, key, keyId: row.id }).create(receiver.url)
    const watcher = await receive()
    await client.create(watcher.url, { eventTypes: ['WEBHOOK_DISABLED'] })
    await revokeKey(app.database, row.id)
    await create.user()
    expect(await untilDisabled(id)).toBe('The API key that made the webhook is no longer valid.')
    const [message] = (await watcher.received(1)) as [ReceivedMessage]
    expect(JSON.parse(message.body)).toMatchObject({ type: 'webhook.disabled', data: { resourceId: id } })
    expect(receiver.messages).toEqual([])
  })

  it('but not when its key is rotated, also if it was created with the old key after that', async () => {
    const receivers = [await receive(), await receive()] as const
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'rotated' })
    const rotated = webhookClient(app, { ...tenant, key, keyId: row.id })
    await rotated.create(receivers[0].url)
    const successor = await rotateKey(app.database, row.id, 3_600_000)
    const { id } = await rotated.create(receivers[1].url)
    await revokeKey(app.database, row.id)
    await create.user()
    for (const receiver of receivers) expect(await receiver.received(1)).toHaveLength(1)
    const { keyId } = await app.database.prisma.webhook.findFirstOrThrow({ where: { id } })
    expect(keyId).toBe(successor.row.id)
  })
})

it('deliveries are removed with their events', async () => {
  const { id } = await client.create('https://example.com')
  for (const user of ['usr_1', 'usr_2']) await create.user({ id: user })
  const { deliveries } = app.services
  while ((await client.deliveries(id)).length < 2) await deliveries.fanOut()
  const [newer, older] = await client.deliveries(id)
  expect(newer?.eventId.localeCompare(older?.eventId ?? '')).not.toBe(0)
  const [first, second] = [newer?.eventId ?? '', older?.eventId ?? ''].toSorted()
  const where = { id: tenant.tenantAppId }
  await app.database.prisma.tenantApp.updateMany({ where, data: { eventsRemovedTo: first ?? null } })
  await deliveries.removeOld()
  expect((await client.deliveries(id)).map(({ eventId }) => eventId)).toEqual([second])
})
