import { dataModel } from '@fusion-gateway/database'
import { createRateLimit } from '@fusion-gateway/limits'
import { insertRows } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxEvents } from '../../src/domain/event/new-events.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, settleEvents, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let address: string
let make: ReturnType<typeof factoriesFor>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
  make = factoriesFor(app, tenant)
})
afterAll(() => app.close())

interface Event {
  readonly id: string
  readonly type: string
  readonly resourceId: string
}

const query =
  'subscription ($after: ID, $types: [EventType!]) { events(after: $after, types: $types) { id type resourceId } }'

const follow = (variables: object = {}) => subscribe(address, tenant.key, query, { ...variables })

async function nextOf<Value>(stream: EventStream, field: string): Promise<Value> {
  const event = await stream.next()
  expect(event?.data?.errors).toBeUndefined()
  return event?.data?.data?.[field] as Value
}

const nextEvent = (stream: EventStream) => nextOf<Event>(stream, 'events')

describe('subscription { events }', () => {
  it('sends the headers at once, and then each change', async () => {
    const stream = await follow()
    const user = await make.user()
    expect(await nextEvent(stream)).toMatchObject({ type: 'USER_CREATED', resourceId: user.id })
    const account = await make.account(user.id)
    expect(await nextEvent(stream)).toMatchObject({ type: 'ACCOUNT_LINKED', resourceId: account.id })
    stream.close()
  })

  it('continues after an id without a gap or a repetition, also far behind', async () => {
    const first = await follow()
    await make.user()
    const { id } = await nextEvent(first)
    first.close()
    const users = Array.from({ length: maxEvents + 100 }, (_, index) => ({
      tenantAppId: tenant.tenantAppId,
      id: `usr_behind_${index}`,
      name: 'A',
      email: 'a',
      updatedAt: new Date(),
    }))
    await insertRows(app.database.sql, dataModel('User'), users.slice(0, 300))
    await insertRows(app.database.sql, dataModel('User'), users.slice(300))
    const second = await follow({ after: id })
    const received: string[] = []
    while (received.length < users.length) received.push((await nextEvent(second)).resourceId)
    expect(received).toEqual(users.map((user) => user.id))
    const last = await make.user()
    expect(await nextEvent(second)).toMatchObject({ resourceId: last.id })
    second.close()
  })

  it('costs points for each page that is read for a follower alone, also if none of its events concerns the follower', async () => {
    const own = await app.createTenant()
    const { tenantAppId } = own
    const log = { error: () => undefined, warn: () => undefined }
    const limited = await app.startAnother({ rateLimit: createRateLimit(15, { log }) })
    await factoriesFor(app, own).user()
    await settleEvents(app)
    const { data } = await app.graphql<{ events: { nodes: [Event] } }>(own, '{ events(first: 1) { nodes { id } } }')
    const users = Array.from({ length: maxEvents + 1 }, (_, index) => ({
      tenantAppId,
      id: `usr_priced_${index}`,
      name: 'A',
      email: 'a',
      updatedAt: new Date(),
    }))
    await insertRows(app.database.sql, dataModel('User'), users)
    await settleEvents(app)
    const stream = await subscribe(await addressOf(limited), own.key, query, {
      after: data.events.nodes[0].id,
      types: ['JOB_CREATED'],
    })
    // The subscription and a page cost 11 points, the second page would cost 10 more.
    const event = await stream.next()
    expect(event?.data?.errors?.[0]?.extensions['code']).toBe('RATE_LIMITED')
    stream.close()
    await limited.close()
  })

  it('sends only events of the types', async () => {
    const stream = await follow({ types: ['USER_DELETED'] })
    const user = await make.user()
    await app.database.prisma.user.deleteMany({ where: { id: user.id } })
    expect(await nextEvent(stream)).toMatchObject({ type: 'USER_DELETED', resourceId: user.id })
    stream.close()
  })

  it('sends no event of another tenant', async () => {
    const stream = await follow()
    const other = await app.createTenant()
    await factoriesFor(app, other).user()
    const user = await make.user()
    expect(await nextEvent(stream)).toMatchObject({ resourceId: user.id })
    stream.close()
  })

  it('sends a token of a user the events of this user', async () => {
    const [user, other] = [await make.user(), await make.user()]
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: user.id } },
    )
    const authorization = `Bearer ${data.createAccessToken.accessToken}`
    const stream = await subscribe(address, { authorization }, query)
    await make.account(other.id)
    const account = await make.account(user.id)
    expect(await nextEvent(stream)).toMatchObject({ resourceId: account.id })
    stream.close()
  })

  it.each(['usr_1', 'evt_ffffffffffff000000000000', 'evt_1', ''])(
    'rejects "%s" as an id to continue after',
    async (after) => {
      const stream = await follow({ after })
      const event = await stream.next()
      expect(event?.data?.errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
      stream.close()
    },
  )

  it('reads the log once for all followers of a tenant', async () => {
    const own = await app.createTenant()
    const streams = await Promise.all(Array.from({ length: 20 }, () => subscribe(address, own.key, query)))
    const statements = await app.statementsOf(async () => {
      const user = await factoriesFor(app, own).user()
      for (const stream of streams) expect(await nextEvent(stream)).toMatchObject({ resourceId: user.id })
    })
    // The log is also read every 500 ms, so a slow machine reads it more than once.
    expect(statements.filter((sql) => /FROM event_horizon\(\) AS horizon/.test(sql)).length).toBeLessThan(
      streams.length,
    )
    for (const stream of streams) stream.close()
  })
})

describe('a live object', () => {
  const live = (name: string, id: string, fields: string) =>
    subscribe(address, tenant.key, `subscription ($id: ID!) { ${name}(id: $id) { ${fields} } }`, { id })

  it('user is sent now, after changes of the user and of the accounts and profiles, and null at the end', async () => {
    const user = await make.user({ name: 'One' })
    const stream = await live('user', user.id, 'name accounts { displayName profile { username } }')
    const next = () => nextOf<unknown>(stream, 'user')
    expect(await next()).toEqual({ name: 'One', accounts: [] })
    await app.database.prisma.user.updateMany({ where: { id: user.id }, data: { name: 'Two' } })
    expect(await next()).toEqual({ name: 'Two', accounts: [] })
    const account = await make.account(user.id, { displayName: 'A' })
    expect(await next()).toEqual({ name: 'Two', accounts: [{ displayName: 'A', profile: null }] })
    await make.profile(account, { username: 'ada' })
    expect(await next()).toEqual({ name: 'Two', accounts: [{ displayName: 'A', profile: { username: 'ada' } }] })
    await app.database.prisma.user.deleteMany({ where: { id: user.id } })
    expect(await next()).toBeNull()
    expect(await stream.next()).toMatchObject({ event: 'complete' })
  })

  it('account and profile are sent after their changes, and null when the account is unlinked', async () => {
    const user = await make.user()
    const account = await make.account(user.id, { displayName: 'A' })
    const profile = await make.profile(account, { username: 'a' })
    const [ofAccount, ofProfile] = [
      await live('account', account.id, 'displayName'),
      await live('profile', profile.id, 'username'),
    ]
    expect(await nextOf(ofAccount, 'account')).toEqual({ displayName: 'A' })
    expect(await nextOf(ofProfile, 'profile')).toEqual({ username: 'a' })
    await make.account(user.id)
    await app.database.prisma.profile.updateMany({ where: { id: profile.id }, data: { username: 'b' } })
    expect(await nextOf(ofProfile, 'profile')).toEqual({ username: 'b' })
    await app.database.prisma.account.deleteMany({ where: { id: account.id } })
    for (const [stream, name] of [
      [ofAccount, 'account'],
      [ofProfile, 'profile'],
    ] as const) {
      expect(await nextOf(stream, name)).toBeNull()
      expect(await stream.next()).toMatchObject({ event: 'complete' })
    }
  })

  it.each(['user', 'account', 'profile'])('%s of another tenant, and a missing one, is null', async (name) => {
    const other = await app.createTenant()
    const made = factoriesFor(app, other)
    const user = await made.user()
    const account = await made.account(user.id)
    const profile = await made.profile(account)
    for (const id of [user.id, account.id, profile.id, 'missing', 'a\0']) {
      const stream = await live(name, id, 'id')
      expect(await nextOf(stream, name)).toBeNull()
      expect(await stream.next()).toMatchObject({ event: 'complete' })
    }
  })

  it('is read with one statement per change', async () => {
    const user = await make.user()
    const stream = await live('user', user.id, 'name accounts { displayName profile { username } }')
    await nextOf(stream, 'user')
    const statements = await app.statementsOf(async () => {
      await make.account(user.id)
      await nextOf(stream, 'user')
    })
    expect(statements.filter((sql) => /"public"."user"|FROM "user"/.test(sql))).toHaveLength(1)
    stream.close()
  })
})

it('the feed calls back a function that watches twice, when one of the two has stopped', async () => {
  const { watch } = app.services.events
  let called = () => {}
  const callBack = () => called()
  const stops = [await watch(callBack), await watch(callBack)]
  stops[0]?.()
  const isCalled = new Promise<void>((resolve) => {
    called = resolve
  })
  await make.user()
  await isCalled
  stops[1]?.()
})
