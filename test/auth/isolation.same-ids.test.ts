import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rotateKey } from '../../src/domain/credential/key.service.ts'
import { readStoredSecrets } from '../../src/domain/secrets/stored-secrets.ts'
import { moveCursors } from '../../src/domain/webhook/delivery/statements.ts'
import { secretOwnerOf } from '../../src/domain/webhook/secrets.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

// Ids of keys and webhooks are created by the gateway. Statements name the tenant besides, in case two tenants have the
// same one, as after a copy of the rows of a tenant.

let app: TestApp
let mine: TestTenant
let theirs: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  mine = await app.createTenant()
  theirs = await app.createTenant()
})
afterAll(() => app.close())

describe('a row of another tenant with the same id', () => {
  it('keeps its secret when that of a webhook is rotated', async () => {
    const id = '00000000-0000-7000-8000-000000000001'
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id, secret: 'unchanged' })
    const { data } = await app.graphql(
      mine,
      'mutation ($id: ID!) { rotateWebhookSecret(input: { id: $id }) { secret userErrors { message } } }',
      { id },
    )
    expect(data['rotateWebhookSecret']).toEqual({ secret: expect.stringMatching(/^whsec_/), userErrors: [] })
    const rows = await app.database.prisma.webhook.findMany({ where: { id } })
    const secretOf = ({ tenantAppId }: TestTenant) => rows.find((row) => row.tenantAppId === tenantAppId)?.secret
    expect(secretOf(theirs)).toBe('unchanged')
    expect(secretOf(mine)).not.toBe('unchanged')
  })

  it('is sent no events again when those of a webhook are', async () => {
    const id = '00000000-0000-7000-8000-000000000002'
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id })
    await factoriesFor(app, mine).user()
    const event = await app.database.prisma.event.findFirst({ where: { tenantAppId: mine.tenantAppId } })
    const { data } = await app.graphql(
      mine,
      `mutation ($id: ID!, $after: ID!) {
        redeliverEvents(input: { webhookId: $id, events: { after: $after } }) { userErrors { message } }
      }`,
      { id, after: event?.id },
    )
    expect(data['redeliverEvents']).toEqual({ userErrors: [] })
    const rows = await app.database.prisma.webhook.findMany({ where: { id }, orderBy: { cursor: 'asc' } })
    expect(rows.map(({ tenantAppId }) => tenantAppId)).toEqual([mine.tenantAppId, theirs.tenantAppId])
    expect(rows[0]?.cursor).not.toBe(rows[1]?.cursor)
  })

  it('keeps its secret when that of a webhook is encrypted with another key', async () => {
    const id = '00000000-0000-7000-8000-000000000003'
    const secret = app.keyRing.encrypt('whsec_x', secretOwnerOf({ tenantAppId: mine.tenantAppId, id }))
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id, secret })
    for await (const { encrypt } of readStoredSecrets(app.database, app.keyRing)) await encrypt?.(app.keyRing)
    const kept = await app.database.prisma.webhook.findMany({ where: { id, secret } })
    expect(kept.map(({ tenantAppId }) => tenantAppId)).toEqual([theirs.tenantAppId])
  })

  it('is sent events when a webhook has failed and waits', async () => {
    const id = '00000000-0000-7000-8000-000000000004'
    const row = await factoriesFor(app, mine).webhook({ id, url: 'https://example.com/mine' })
    const other = await factoriesFor(app, theirs).webhook({ id, url: 'https://example.com/theirs' })
    const webhook = { ...row, scopes: [], secrets: [], isFailing: false }
    const { deliveries } = app.services
    await deliveries.noteFailure(webhook)
    const stateOf = async ({ tenantAppId }: TestTenant) => {
      const { failingSince, pausedUntil } = await app.database.prisma.webhook.findFirstOrThrow({
        where: { tenantAppId, id },
      })
      return { isFailing: failingSince !== null, isPaused: pausedUntil !== null }
    }
    await deliveries.pause({ ...webhook, url: other.url }, 60)
    expect(await stateOf(mine)).toEqual({ isFailing: true, isPaused: false })
    await deliveries.pause(webhook, 60)
    expect(await stateOf(mine)).toEqual({ isFailing: true, isPaused: true })
    expect(await stateOf(theirs)).toEqual({ isFailing: false, isPaused: false })
  })

  it('keeps its delivery when that of a webhook ends, and is removed with its event', async () => {
    const id = '00000000-0000-7000-8000-000000000005'
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id })
    const { deliveries } = app.services
    const { prisma } = app.database
    const { tenantAppId } = mine
    const running = { status: 'RUNNING', leaseToken: 'token' }
    await prisma.webhookDelivery.updateMany({ where: { webhookId: id }, data: running })
    const end = { status: 'SUCCEEDED', responseStatus: 200, error: null, delaySeconds: null, isFree: false } as const
    await deliveries.record([{ tenantAppId, id: `dlv_${id}`, leaseToken: 'token', ...end }])
    const statuses = async () => {
      const rows = await prisma.webhookDelivery.findMany({ where: { webhookId: id } })
      return Object.fromEntries(rows.map((row) => [row.tenantAppId, row.status]))
    }
    expect(await statuses()).toEqual({ [mine.tenantAppId]: 'SUCCEEDED', [theirs.tenantAppId]: 'RUNNING' })
    await prisma.tenantApp.updateMany({ where: { id: tenantAppId }, data: { eventsRemovedTo: 'evt_z' } })
    await deliveries.removeOld()
    expect(await statuses()).toEqual({ [theirs.tenantAppId]: 'RUNNING' })
  })

  it('was not used when a key was used', async () => {
    const [user, other] = [await app.createTenant(), await app.createTenant()]
    await app.database.runAsOwner(
      `UPDATE api_key SET id = '${user.keyId}' WHERE tenant_app_id = '${other.tenantAppId}';
       UPDATE api_key SET last_used_at = NULL WHERE id = '${user.keyId}'`,
    )
    await app.graphql(user, '{ users { nodes { id } } }')
    const usedBy = async () => {
      const keys = await app.database.prisma.apiKey.findMany({ where: { id: user.keyId, lastUsedAt: { not: null } } })
      return keys.map(({ tenantAppId }) => tenantAppId)
    }
    await expect.poll(usedBy).toEqual([user.tenantAppId])
  })

  it('stays valid when a key, or one that it has created, is rotated or revoked', async () => {
    const { prisma } = app.database
    const [parent, child, webhook] = ['key_same_parent', 'key_same_child', 'key_same_webhook']
    for (const [{ tenantAppId }, creatorId] of [[mine, null] as const, [theirs, parent] as const]) {
      const key = (id: string, creator: string | null) => ({
        tenantAppId,
        id,
        hash: `${tenantAppId} ${id}`,
        name: id,
        scopes: ['users:read'],
        creatorId: creator,
      })
      await prisma.apiKey.createMany({ data: [key(parent, null), key(child, creatorId)] })
    }
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id: webhook, keyId: child })

    const { row } = await rotateKey(app.database, child, 60_000)
    const ended = await prisma.apiKey.findMany({ where: { id: child, successorId: row.id } })
    expect(ended.map(({ tenantAppId }) => tenantAppId)).toEqual([row.tenantAppId])
    const moved = await prisma.webhook.findMany({ where: { id: webhook, keyId: row.id } })
    expect(moved.map(({ tenantAppId }) => tenantAppId)).toEqual([row.tenantAppId])

    const revoke = 'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { userErrors { message } } }'
    await app.graphql(mine, revoke, { id: parent })
    const revoked = await prisma.apiKey.findMany({ where: { id: { in: [parent, child] }, revokedAt: { not: null } } })
    expect(revoked.map(({ tenantAppId, id }) => [tenantAppId, id])).toEqual([[mine.tenantAppId, parent]])
  })

  it('has read no further when a webhook gets events', async () => {
    const id = '00000000-0000-7000-8000-000000000006'
    for (const [tenant, cursor] of [[mine, 'evt_'] as const, [theirs, 'evt_z'] as const]) {
      await factoriesFor(app, tenant).webhook({ id, cursor })
    }
    const { id: user } = await factoriesFor(app, mine).user()
    const cursors = async () => {
      await app.services.deliveries.fanOut()
      const rows = await app.database.prisma.webhook.findMany({ where: { id } })
      return Object.fromEntries(rows.map(({ tenantAppId, cursor }) => [tenantAppId, cursor]))
    }
    const last = await app.database.prisma.event.findFirstOrThrow({ where: { resourceId: user } })
    await expect.poll(cursors).toEqual({ [mine.tenantAppId]: last.id, [theirs.tenantAppId]: 'evt_z' })
    // A node of a distributed database moves cursors with a statement of its own.
    await app.database.sql.of(mine.tenantAppId).execute(moveCursors, [mine.tenantAppId, [id], ['evt_y']])
    expect(await cursors()).toEqual({ [mine.tenantAppId]: 'evt_y', [theirs.tenantAppId]: 'evt_z' })
  })

  it('is sent no event of its tenant when a webhook is sent events with given ids', async () => {
    const id = '00000000-0000-7000-8000-000000000007'
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).webhook({ id })
    const { id: user } = await factoriesFor(app, theirs).user()
    await settleEvents(app)
    const event = await app.database.prisma.event.findFirstOrThrow({ where: { resourceId: user } })
    const redeliver = ({ tenantAppId }: TestTenant) =>
      app.services.deliveries.redeliver({ tenantAppId, id }, [event.id])
    expect(await redeliver(mine)).toEqual([])
    expect(await redeliver(theirs)).toEqual([event.id])
  })

  const due = { status: 'PENDING', nextAttemptAt: new Date(0) }
  const running = { status: 'RUNNING', nextAttemptAt: new Date('2100-01-01') }

  it.each([
    ['a disabled webhook', { enabled: false }, due, due, 0],
    ['a delivery that has ended', {}, {}, due, 0],
    // It has one delivery at a time.
    ['a due delivery of a webhook that fails', { failingSince: new Date() }, due, running, 1],
  ])('has no effect on %s when deliveries are claimed, nor a claim on it', async (_of, webhook, own, other, count) => {
    const { prisma } = app.database
    const [claiming, idle] = [await app.createTenant(), await app.createTenant()]
    const id = '00000000-0000-7000-8000-000000000008'
    for (const [tenant, given, data] of [[claiming, webhook, own] as const, [idle, {}, other] as const]) {
      const { tenantAppId } = tenant
      await factoriesFor(app, tenant).webhook({ ...given, id })
      await prisma.webhookDelivery.updateMany({ where: { tenantAppId }, data: { ...data, eventId: 'evt_same' } })
      await prisma.event.createMany({
        data: { tenantAppId, id: 'evt_same', type: 'USER_CREATED', resourceId: 'usr_1' },
      })
    }
    expect(await app.services.deliveries.claim(claiming.tenantAppId, 10, 60)).toHaveLength(count)
    const kept = await prisma.webhookDelivery.findFirst({ where: { tenantAppId: idle.tenantAppId } })
    expect(kept).toMatchObject({ ...other, attempts: 0 })
  })
})
