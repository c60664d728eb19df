import { GatewayError } from '@fusion-gateway/base'
import type { RateLimit } from '@fusion-gateway/limits'
import { Reservation } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { addressOf, type EventStream, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { completion, type Transport, transports } from '../support/transports.ts'

let app: TestApp
let address: string

beforeAll(async () => {
  app = await startTestApp()
  address = await addressOf(app)
})
afterAll(() => app.close())

type Row = { readonly id: string } & Readonly<Record<string, unknown>>

interface ListChange {
  readonly rows: readonly Row[]
  readonly removedIds: readonly string[]
  readonly order: readonly string[]
}

interface Withheld {
  readonly data: { readonly list: ListChange }
  readonly errors: readonly { readonly path: unknown }[]
}

/** A tenant of a test, its rows, and its lists. */
async function start() {
  const tenant = await app.createTenant()
  const follow = async (selected: string, args = '', credentials: Parameters<typeof subscribe>[1] = tenant.key) =>
    following(await subscribe(address, credentials, documentOf('users', selected, args)))
  return { tenant, make: factoriesFor(app, tenant), follow }
}

const documentOf = (list: string, selected: string, args = '') =>
  `subscription { list: ${list}${args} { rows: ${list === 'searchProfiles' ? 'profiles' : list} { ${selected} } removedIds order } }`

function following(stream: EventStream) {
  return {
    ...stream,
    async nextChange(): Promise<ListChange> {
      const event = await stream.next()
      expect(event?.data?.errors).toBeUndefined()
      return event?.data?.data?.['list'] as ListChange
    },
    async nextCode(): Promise<unknown> {
      const event = await stream.next()
      return event?.data?.errors?.[0]?.extensions['code']
    },
  }
}

const setUser = (tenantAppId: string, id: string, data: { name?: string; phone?: string }) =>
  app.database.prisma.user.updateMany({ where: { tenantAppId, id }, data })

const deleteUser = (tenantAppId: string, id: string) =>
  app.database.prisma.user.deleteMany({ where: { tenantAppId, id } })

/** The statements with which gateways read pages of a table. Tests write by Prisma Client. */
const readsOf = (table: string, statements: readonly string[]) =>
  statements.filter((sql) => sql.includes(`FROM "${table}"`))

const named = '(filter: { nameContains: "in" }, orderBy: { field: NAME, direction: ASC }, first: 3)'

describe.concurrent('a live list', () => {
  it('sends the page, and then the rows that enter, change, move and leave', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const [b, d] = [await make.user({ name: 'b in' }), await make.user({ name: 'd in' })]
    await make.user({ name: 'z out' })
    const list = await follow('id name', named)
    const row = ({ id }: { id: string }, name: string) => ({ id, name })
    expect(await list.nextChange()).toEqual({
      rows: [row(b, 'b in'), row(d, 'd in')],
      removedIds: [],
      order: [b.id, d.id],
    })
    const c = await make.user({ name: 'c in' })
    expect(await list.nextChange()).toEqual({ rows: [row(c, 'c in')], removedIds: [], order: [b.id, c.id, d.id] })
    const a = await make.user({ name: 'a in' })
    expect(await list.nextChange()).toEqual({
      rows: [row(a, 'a in')],
      removedIds: [d.id],
      order: [a.id, b.id, c.id],
    })
    // It moves, because the page is in the order of the names.
    await setUser(tenantAppId, a.id, { name: 'bb in' })
    expect(await list.nextChange()).toEqual({
      rows: [row(a, 'bb in')],
      removedIds: [],
      order: [b.id, a.id, c.id],
    })
    await setUser(tenantAppId, b.id, { name: 'b' })
    expect(await list.nextChange()).toEqual({
      rows: [row(d, 'd in')],
      removedIds: [b.id],
      order: [a.id, c.id, d.id],
    })
    await deleteUser(tenantAppId, c.id)
    expect(await list.nextChange()).toEqual({ rows: [], removedIds: [c.id], order: [a.id, d.id] })
    list.close()
  })

  it('sends a row of which something below has changed, and no other', async () => {
    const { make, follow } = await start()
    const [one, two] = [await make.user(), await make.user()]
    const account = await make.account(two.id, { displayName: 'A' })
    const list = await follow('id accounts { displayName profile { username } }')
    await list.nextChange()
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'B' } })
    const order = [one.id, two.id]
    const accounts = [{ displayName: 'B', profile: null }]
    expect(await list.nextChange()).toEqual({ rows: [{ id: two.id, accounts }], removedIds: [], order })
    await make.profile(account, { username: 'ada' })
    const withProfile = [{ displayName: 'B', profile: { username: 'ada' } }]
    expect(await list.nextChange()).toEqual({ rows: [{ id: two.id, accounts: withProfile }], removedIds: [], order })
    list.close()
  })

  it('sends nothing after changes outside of the page, and of fields that are not selected', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user({ name: 'a in' })
    const outside = await make.user({ name: 'z out' })
    const [list, clock] = [
      await follow('id name', named),
      await follow('id name', '(first: 1, orderBy: { field: UPDATED_AT, direction: DESC })'),
    ]
    await list.nextChange()
    await clock.nextChange()
    await setUser(tenant.tenantAppId, outside.id, { name: 'y out' })
    await clock.nextChange()
    await setUser(tenant.tenantAppId, user.id, { phone: '1' })
    await clock.nextChange()
    await setUser(tenant.tenantAppId, user.id, { name: 'b in' })
    expect(await list.nextChange()).toMatchObject({ rows: [{ id: user.id, name: 'b in' }] })
    for (const stream of [list, clock]) stream.close()
  })

  it('sends the whole page to a client that subscribes again, also an empty one', async () => {
    const { make, follow } = await start()
    for (const count of [0, 1]) {
      const list = await follow('id')
      expect(await list.nextChange()).toMatchObject({
        rows: { length: count },
        removedIds: [],
        order: { length: count },
      })
      list.close()
      await make.user()
    }
  })

  it('compares what the client has selected, under every name and in fragments', async () => {
    const { tenant, make } = await start()
    const user = await make.user({ name: 'A' })
    await make.user({ name: 'B' })
    const query = `subscription { a: users { __typename ...F rows: users { name } } }
      fragment F on UserListChange { users { id } order ids: removedIds }`
    const list = following(await subscribe(address, tenant.key, query))
    expect((await list.next())?.data?.data).toMatchObject({ a: { users: { length: 2 }, rows: { length: 2 } } })
    await setUser(tenant.tenantAppId, user.id, { name: 'C' })
    const { id } = user
    expect((await list.next())?.data?.data).toMatchObject({ a: { users: [{ id }], rows: [{ name: 'C' }], ids: [] } })
    list.close()
  })

  it('can be one of accounts, or of profiles', async () => {
    const { tenant, make } = await start()
    const account = await make.account((await make.user()).id)
    const profile = await make.profile(account, { followersCount: 1 })
    const follow = async (name: string, args: string) =>
      following(await subscribe(address, tenant.key, documentOf(name, 'id', args)))
    const accounts = await follow('accounts', '(filter: { status: EXPIRED })')
    const profiles = await follow('searchProfiles', '(filter: { followersMin: 10 })')
    for (const list of [accounts, profiles]) {
      expect(await list.nextChange()).toEqual({ rows: [], removedIds: [], order: [] })
    }
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { status: 'EXPIRED' } })
    await app.database.prisma.profile.updateMany({ where: { id: profile.id }, data: { followersCount: 10 } })
    for (const [list, { id }] of [
      [accounts, account],
      [profiles, profile],
    ] as const) {
      expect(await list.nextChange()).toEqual({ rows: [{ id }], removedIds: [], order: [id] })
      list.close()
    }
  })

  it('has at last what the query has, whatever has changed', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const selected = 'id name accounts { displayName }'
    const args =
      '(first: 5, filter: { createdAfter: "2020-01-01T00:00:00Z" }, orderBy: { field: NAME, direction: DESC })'
    const list = await follow(selected, args)
    const ids: string[] = []
    const random = createRandom(7)
    for (let step = 0; step < 30; step += 1) {
      const id = ids[Math.floor(random() * ids.length)]
      const name = String(random())
      const kind = Math.floor(random() * 4)
      if (id === undefined || kind === 0) ids.push((await make.user({ name })).id)
      else if (kind === 1) await setUser(tenantAppId, id, { name })
      else if (kind === 2) await make.account(id, { displayName: name }).catch(() => undefined)
      else await deleteUser(tenantAppId, id)
    }
    const { data } = await app.graphql<{ users: { nodes: Row[] } }>(
      tenant,
      `{ users${args} { nodes { ${selected} } } }`,
    )
    const { nodes } = data.users
    const known = new Map<string, Row>()
    let page: (Row | undefined)[] = []
    while (JSON.stringify(page) !== JSON.stringify(nodes)) {
      const { rows, removedIds, order } = await list.nextChange()
      for (const removed of removedIds) known.delete(removed)
      for (const row of rows) known.set(row.id, row)
      page = order.map((id) => known.get(id))
      expect([...known.keys()].toSorted()).toEqual(order.toSorted())
    }
    list.close()
  })
})

/** Numbers from 0 to 1, the same each time. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

describe('the reads of a live list', () => {
  it('are one statement for many changes at once', async () => {
    const { tenant, make, follow } = await start()
    const users = await Promise.all(Array.from({ length: 10 }, () => make.user()))
    const list = await follow('id name accounts { profile { id } }')
    await list.nextChange()
    const inputs = (name: string) => users.map(({ id }) => ({ id, name }))
    const mutation =
      'mutation ($inputs: [UpdateUserInput!]!) { updateUsers(inputs: $inputs) { results { user { id } } } }'
    const statements = await app.statementsOf(async () => {
      await app.graphql(tenant, mutation, { inputs: inputs('One') })
      expect((await list.nextChange()).rows).toHaveLength(10)
      await app.graphql(tenant, mutation, { inputs: inputs('Two') })
      expect((await list.nextChange()).rows).toHaveLength(10)
    })
    const reads = readsOf('user', statements).filter((sql) => sql.includes('FROM "account"'))
    expect(reads).toHaveLength(2)
    expect(readsOf('account', statements)).toHaveLength(2)
    expect(readsOf('profile', statements)).toHaveLength(2)
    list.close()
  })

  it('are at most one each second while changes go on', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user()
    const list = await follow('id name')
    await list.nextChange()
    const startedAt = performance.now()
    const statements = await app.statementsOf(async () => {
      for (let change = 0; performance.now() - startedAt < 2_500; change += 1) {
        await setUser(tenant.tenantAppId, user.id, { name: `${change}` })
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const last = { name: 'last' }
      await setUser(tenant.tenantAppId, user.id, last)
      for (let name: unknown; name !== last.name; ) name = (await list.nextChange()).rows[0]?.['name']
    })
    const seconds = (performance.now() - startedAt) / 1_000
    expect(readsOf('user', statements).length).toBeLessThanOrEqual(Math.floor(seconds) + 1)
    expect(readsOf('user', statements).length).toBeGreaterThan(1)
    list.close()
  })

  it('are none after changes in another tenant', async () => {
    const [mine, theirs] = [await start(), await start()]
    const user = await mine.make.user()
    const clock = await theirs.follow('id')
    const list = await mine.follow('id name')
    await list.nextChange()
    await clock.nextChange()
    const statements = await app.statementsOf(async () => {
      await theirs.make.user()
      await clock.nextChange()
      await setUser(mine.tenant.tenantAppId, user.id, { name: 'New' })
      await list.nextChange()
    })
    expect(readsOf('user', statements)).toHaveLength(2)
    for (const stream of [list, clock]) stream.close()
  })

  it('are none after changes of rows of which nothing is selected, unless a filter can be about them', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user()
    const accounts = following(await subscribe(address, tenant.key, documentOf('accounts', 'id')))
    const lists = [await follow('id name'), await follow('id name', '(filter: { hasAccounts: true })')] as const
    for (const stream of [accounts, ...lists]) await stream.nextChange()
    const statements = await app.statementsOf(async () => {
      await make.account(user.id)
      await accounts.nextChange()
      expect((await lists[1].nextChange()).order).toEqual([user.id])
      await setUser(tenant.tenantAppId, user.id, { name: 'New' })
      for (const list of lists) expect((await list.nextChange()).rows).toMatchObject([{ name: 'New' }])
    })
    // One of the list without a filter, two of the other.
    expect(readsOf('user', statements)).toHaveLength(3)
    for (const stream of [accounts, ...lists]) stream.close()
  })

  it('are none for a token of a user after changes of other users, whom it does not see', async () => {
    const { tenant, make, follow } = await start()
    const [user, other] = [await make.user(), await make.user()]
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: user.id } },
    )
    const authorization = `Bearer ${data.createAccessToken.accessToken}`
    const [list, clock] = [await follow('id name', '', { authorization }), await follow('id name')]
    expect(await list.nextChange()).toMatchObject({ rows: [{ id: user.id }], order: [user.id] })
    await clock.nextChange()
    const statements = await app.statementsOf(async () => {
      await setUser(tenant.tenantAppId, other.id, { name: 'Other' })
      await clock.nextChange()
      await setUser(tenant.tenantAppId, user.id, { name: 'Own' })
      expect(await list.nextChange()).toEqual({
        rows: [{ id: user.id, name: 'Own' }],
        removedIds: [],
        order: [user.id],
      })
      await clock.nextChange()
    })
    // One of the token, two of the key.
    expect(readsOf('user', statements)).toHaveLength(3)
    for (const stream of [list, clock]) stream.close()
  })
})

describe.concurrent('the viewer of a live list', () => {
  it('needs the scopes of the list and of the conditions', async () => {
    const { tenant, follow } = await start()
    const { tenantAppId } = tenant
    const keyWith = async (scopes: string[]) => (await createKey(app.database, { tenantAppId, name: 'k', scopes })).key
    const none = await follow('id', '', await keyWith(['jobs:read']))
    expect(await none.nextCode()).toBe('FORBIDDEN')
    const filter = await follow('id', '(filter: { email: "a@example.com" })', await keyWith(['users:read']))
    expect(await filter.nextCode()).toBe('FORBIDDEN')
    for (const stream of [none, filter]) stream.close()
  })

  it.each([
    ['of the list', '(filter: { profile: {} })', 'id displayName'],
    ['of a list below', '', 'id displayName user { accounts(filter: { profile: {} }) { id } }'],
  ])('gets FORBIDDEN and the end when a scope that a condition %s needs is lost', async (_, args, selected) => {
    const { tenant, make } = await start()
    const { tenantAppId } = tenant
    const scopes = ['users:read', 'profiles:read']
    const { row, key } = await createKey(app.database, { tenantAppId, name: 'k', scopes })
    const account = await make.account((await make.user()).id)
    await make.profile(account)
    const list = following(await subscribe(address, key, documentOf('accounts', selected, args)))
    expect(await list.nextChange()).toMatchObject({ order: [account.id] })
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { scopes: ['users:read'] } })
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'New' } })
    expect(await list.nextCode()).toBe('FORBIDDEN')
    expect(await list.next()).toMatchObject({ event: 'complete' })
  })

  it('gets the errors of withheld fields at the places of the rows that are sent', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: 'k', scopes: ['users:read'] })
    await make.user()
    const user = await make.user()
    const list = await follow('id name email', '', key)
    const read = async () => (await list.next())?.data as unknown as Withheld
    const paths = (errors: Withheld['errors']) => errors.map(({ path }) => path)
    const first = await read()
    expect(paths(first.errors)).toEqual([0, 1].map((at) => ['list', 'rows', at, 'email']))
    await setUser(tenantAppId, user.id, { name: 'New' })
    const second = await read()
    expect(second.data.list.rows).toEqual([{ id: user.id, name: 'New', email: null }])
    expect(second.errors).toMatchObject([{ path: ['list', 'rows', 0, 'email'], extensions: { code: 'FORBIDDEN' } }])
    list.close()
  })

  it.each([
    ['(first: 501)', 'id'],
    ['(first: -1)', 'id'],
    ['(filter: { search: "a\\u0000" })', 'id'],
    ['', 'id accounts(first: -1) { id }'],
  ])('gets BAD_USER_INPUT and the end for the arguments %s { %s }', async (args, selected) => {
    const { make, follow } = await start()
    await make.user()
    const list = await follow(selected, args)
    expect(await list.nextCode()).toBe('BAD_USER_INPUT')
    expect(await list.next()).toMatchObject({ event: 'complete' })
  })
})

describe.concurrent('the points of a live list', () => {
  /** A budget that counts what is spent, refuses when it is told so, and has so many points left. */
  function createBudget() {
    const state = { spent: [] as number[], isEmpty: false, remaining: 1_000 }
    const budget = () => ({ points: 1_000, remaining: state.remaining, resetSeconds: 4 })
    const limit: RateLimit = {
      async spend() {
        return budget()
      },
      async reserve(_, points) {
        if (state.isEmpty) {
          state.isEmpty = false
          throw new GatewayError('RATE_LIMITED', 'Empty.', { limit: 'points', headers: { 'retry-after': '3' } })
        }
        state.spent.push(points.requested)
        return new Reservation({ ...points, budget: budget() })
      },
      charge: async () => undefined,
    }
    return { limit, state }
  }

  it('are those of the query, for each time that it is read', async () => {
    const { tenant, make } = await start()
    const user = await make.user()
    const { limit, state } = createBudget()
    const limited = await app.startAnother({ rateLimit: limit })
    const args = '(first: 7, filter: { nameContains: "e" })'
    const selected = 'id accounts { profile { id } }'
    await limited.graphql(tenant, `{ users${args} { nodes { ${selected} } } }`)
    const [cost] = state.spent.splice(0)
    expect(cost).toBe(7 + 7 * 5 * 2 + 50)
    const stream = await subscribe(await addressOf(limited), tenant.key, documentOf('users', selected, args))
    const list = following(stream)
    await list.nextChange()
    await make.account(user.id)
    await list.nextChange()
    expect(state.spent).toEqual([cost, cost])

    // A change that cannot be paid is sent later, after Retry-After.
    state.isEmpty = true
    let startedAt = performance.now()
    await make.account(user.id, { platform: 'X' })
    state.remaining = 499
    expect((await list.nextChange()).rows).toMatchObject([{ accounts: { length: 2 } }])
    expect(performance.now() - startedAt).toBeGreaterThan(2_900)
    expect(state.spent).toEqual([cost, cost, cost])

    // Less than half of the points were left, so the next change waits for the next minute.
    startedAt = performance.now()
    await make.account(user.id, { platform: 'TWITCH' })
    expect((await list.nextChange()).rows).toMatchObject([{ accounts: { length: 3 } }])
    expect(performance.now() - startedAt).toBeGreaterThan(1_500)
    list.close()
    await limited.close()
  })
})

describe.concurrent.each(Object.keys(transports) as Transport[])('a live list over %s', (name) => {
  const query = 'subscription { users { users { name } order } }'

  it('sends its changes, and ends when its key is revoked', async () => {
    const { tenant, make } = await start()
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'revoked' })
    const user = await make.user({ name: 'First' })
    const { until, ending } = await transports[name](address, key, query)
    await until(`{"users":{"users":[{"name":"First"}],"order":["${user.id}"]}}`)
    await make.user({ name: 'Second' })
    await until('{"users":[{"name":"Second"}]')
    await revokeKey(app.database, row.id)
    const { text, end } = await ending
    if (name === 'WebSocket') return expect(end).toBe('4403')
    expect(text).toContain('UNAUTHENTICATED')
    expect(text).toMatch(completion)
  })

  it('breaks off when the gateway stops, also while it waits for points', async () => {
    const { tenant, make } = await start()
    const isShort = { points: 1_000, remaining: 1, resetSeconds: 600 }
    const rateLimit: RateLimit = {
      spend: async () => isShort,
      charge: async () => isShort,
      reserve: async (_, points) => new Reservation({ ...points, budget: isShort }),
    }
    const stopping = await app.startAnother({ rateLimit })
    const { until, ending } = await transports[name](await addressOf(stopping), tenant.key, query)
    await until('"order":[]')
    const first = await make.user()
    await until(first.id)
    const follower = await stopping.services.events.follow({ ...tenant, keyId: 'test' })
    await make.user()
    await follower.next()
    follower.return()
    const closed = stopping.close()
    const { text, end } = await ending
    expect(end).toBe(
      {
        'server-sent events': '200 text/event-stream, broken off',
        multipart: '200 multipart/mixed, broken off',
        WebSocket: '1001',
      }[name],
    )
    expect(text).not.toMatch(completion)
    await closed
  })
})
