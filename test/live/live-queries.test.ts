import { GatewayError } from '@fusion-gateway/base'
import { type RateLimit, Reservation, unlimited } from '@fusion-gateway/limits'
import pg from 'pg'
import { applyPatch, type Operation } from 'rfc6902'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { hasServer } from '../support/postgresql.ts'
import { completion, type Transport, transports } from '../support/transports.ts'

let app: TestApp
let address: string

beforeAll(async () => {
  // A busy machine may read the log late: then a result is read once more.
  app = await startTestApp({ logMilliseconds: 30_000 })
  address = await addressOf(app)
})
afterAll(() => app.close())

type Message = {
  readonly data: Record<string, unknown>
  readonly errors?: readonly { readonly path?: unknown; readonly extensions: { readonly code: string } }[]
  readonly extensions: { readonly live: { readonly revision: number; readonly patch?: unknown } }
}

/** A live query whose results are awaited. */
function following(stream: EventStream) {
  return {
    ...stream,
    nextMessage: async () => (await stream.next())?.data as unknown as Message,
    async nextData(): Promise<unknown> {
      const event = await stream.next()
      expect(event?.data?.errors).toBeUndefined()
      return event?.data?.data
    },
    nextCode: async () => (await stream.next())?.data?.errors?.[0]?.extensions['code'],
  }
}

/** A tenant of a test, its rows, and its live queries. */
async function start() {
  const tenant = await app.createTenant()
  const follow = async (query: string, credentials: Parameters<typeof subscribe>[1] = tenant.key) =>
    following(await subscribe(address, credentials, query))
  return { tenant, make: factoriesFor(app, tenant), follow }
}

const setUser = (tenantAppId: string, id: string, data: { name?: string; phone?: string }) =>
  app.database.prisma.user.updateMany({ where: { tenantAppId, id }, data })

/** The statements with which gateways read pages of a table. Tests write by Prisma Client. */
const readsOf = (table: string, statements: readonly string[]) =>
  statements.filter((sql) => sql.includes(`FROM "${table}"`))

const nodes = (list: string, rows: readonly object[]) => ({ [list]: { nodes: rows } })

describe.concurrent('a live query', () => {
  it('sends its result, and again whenever it changes', async () => {
    const { tenant, make, follow } = await start()
    const query =
      'query @live { users(filter: { nameContains: "in" }, orderBy: { field: NAME, direction: ASC }, first: 2) { nodes { name } } }'
    const b = await make.user({ name: 'b in' })
    await make.user({ name: 'z out' })
    const list = await follow(query)
    expect(await list.nextMessage()).toEqual({
      data: nodes('users', [{ name: 'b in' }]),
      extensions: { live: { revision: 1 } },
    })
    await make.user({ name: 'a in' })
    expect(await list.nextMessage()).toEqual({
      data: nodes('users', [{ name: 'a in' }, { name: 'b in' }]),
      extensions: { live: { revision: 2 } },
    })
    await setUser(tenant.tenantAppId, b.id, { name: 'b' })
    expect(await list.nextData()).toEqual(nodes('users', [{ name: 'a in' }]))
    list.close()
  })

  it('begins with a read of its own, while others wait for their next result', async () => {
    const { make, follow } = await start()
    const query = 'query @live(throttle: 1000) { users { nodes { name } } }'
    const begun = performance.now()
    const first = await follow(query)
    expect(await first.nextData()).toEqual(nodes('users', []))
    await make.user({ name: 'written' })
    const second = await follow(query)
    const order: string[] = []
    const [, waited] = await Promise.all([
      second.nextData().then((data) => order.push(`second ${JSON.stringify(data)}`)),
      first.nextData().then((data) => {
        order.push(`first ${JSON.stringify(data)}`)
        return performance.now() - begun
      }),
    ])
    const data = JSON.stringify(nodes('users', [{ name: 'written' }]))
    expect(order).toEqual([`second ${data}`, `first ${data}`])
    expect(waited).toBeGreaterThanOrEqual(1_000)
    first.close()
    second.close()
  })

  it('follows what is below, also if something else writes it', async () => {
    const { make, follow } = await start()
    const user = await make.user()
    const account = await make.account(user.id, { displayName: 'A' })
    const tree = await follow(
      `query @live { user(id: "${user.id}") { accounts { displayName profile { username } } } }`,
    )
    const shown = (displayName: string, username?: string) => ({
      user: { accounts: [{ displayName, profile: username ? { username } : null }] },
    })
    expect(await tree.nextData()).toEqual(shown('A'))
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'B' } })
    expect(await tree.nextData()).toEqual(shown('B'))
    await make.profile(account, { username: 'ada' })
    expect(await tree.nextData()).toEqual(shown('B', 'ada'))
    tree.close()
  })

  it('sends nothing after a change that its result does not show', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user({ name: 'a' })
    const [list, clock] = [
      await follow('query @live { users { nodes { name } } }'),
      await follow('query @live { users { nodes { updatedAt } } }'),
    ]
    for (const stream of [list, clock]) await stream.nextData()
    await setUser(tenant.tenantAppId, user.id, { phone: '1' })
    await clock.nextData()
    await setUser(tenant.tenantAppId, user.id, { name: 'b' })
    expect(await list.nextMessage()).toMatchObject({
      data: nodes('users', [{ name: 'b' }]),
      extensions: { live: { revision: 2 } },
    })
    for (const stream of [list, clock]) stream.close()
  })

  it('is one of jobs, of their progress, and of jobs that are removed', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const list = await follow('query @live { jobs { totalCount nodes { id progress } } }')
    expect(await list.nextData()).toEqual({ jobs: { totalCount: 0, nodes: [] } })
    const { id } = await make.job({ status: 'RUNNING' })
    expect(await list.nextData()).toEqual({ jobs: { totalCount: 1, nodes: [{ id, progress: null }] } })
    await app.database.prisma.job.updateMany({ where: { tenantAppId, id }, data: { progress: 0.5 } })
    expect(await list.nextData()).toEqual({ jobs: { totalCount: 1, nodes: [{ id, progress: 0.5 }] } })
    await app.database.prisma.job.deleteMany({ where: { tenantAppId, id } })
    expect(await list.nextData()).toEqual({ jobs: { totalCount: 0, nodes: [] } })
    list.close()
  })

  it('is one of events, of webhooks, and of objects of any type', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const user = await make.user({ name: 'A' })
    const [events, webhooks, node] = [
      await follow('query @live { events(last: 1) { nodes { type } } }'),
      await follow('query @live { webhooks { nodes { enabled deliveries { nodes { status } } } } }'),
      await follow(`query @live { node(id: "${user.id}") { ... on User { name } } }`),
    ]
    // The log shows an event when the transactions before it have ended, which other tests have too.
    let data = await events.nextData()
    if (!JSON.stringify(data).includes('USER_CREATED')) data = await events.nextData()
    expect(data).toEqual(nodes('events', [{ type: 'USER_CREATED' }]))
    expect(await webhooks.nextData()).toEqual(nodes('webhooks', []))
    expect(await node.nextData()).toEqual({ node: { name: 'A' } })
    const webhook = await make.webhook()
    const delivery = { status: 'FAILED' }
    do data = await webhooks.nextData()
    while (!JSON.stringify(data).includes(JSON.stringify(delivery)))
    expect(data).toEqual(nodes('webhooks', [{ enabled: true, deliveries: { nodes: [delivery] } }]))
    await setUser(tenantAppId, user.id, { name: 'B' })
    expect(await node.nextData()).toEqual({ node: { name: 'B' } })
    expect(await events.nextData()).toEqual(nodes('events', [{ type: 'USER_UPDATED' }]))
    await app.database.prisma.webhook.updateMany({ where: { id: webhook.id }, data: { enabled: false } })
    do data = await webhooks.nextData()
    while (!JSON.stringify(data).includes('"enabled":false'))
    for (const stream of [events, webhooks, node]) stream.close()
  })

  it.skipIf(!hasServer)(
    'shows an event that was written before, when the transaction that it waits for ends',
    async () => {
      const { make, follow } = await start()
      const older = new pg.Client({ connectionString: app.database.ownerUrl })
      await older.connect()
      await older.query('BEGIN')
      await older.query('SELECT pg_current_xact_id()')
      await make.user()
      const events = await follow('query @live { events(last: 1) { nodes { type } } }')
      expect(await events.nextData()).toEqual(nodes('events', []))
      await older.query('COMMIT')
      await older.end()
      expect(await events.nextData()).toEqual(nodes('events', [{ type: 'USER_CREATED' }]))
      events.close()
    },
  )

  it('has at last what the query has, whatever has changed, and never goes back', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const page =
      'users(first: 5, filter: { createdAfter: "2020-01-01T00:00:00Z" }, orderBy: { field: NAME, direction: DESC }) { nodes { id name accounts { displayName } } }'
    const list = await follow(`query @live(throttle: 100) { ${page} }`)
    const ids: string[] = []
    const random = createRandom(7)
    for (let step = 0; step < 30; step += 1) {
      const id = ids[Math.floor(random() * ids.length)]
      const name = String(random())
      const kind = Math.floor(random() * 4)
      if (id === undefined || kind === 0) ids.push((await make.user({ name })).id)
      else if (kind === 1) await setUser(tenantAppId, id, { name })
      else if (kind === 2) await make.account(id, { displayName: name }).catch(() => undefined)
      else await app.database.prisma.user.deleteMany({ where: { tenantAppId, id } })
    }
    const { data } = await app.graphql(tenant, `{ ${page} }`)
    const seen = new Set<string>()
    for (let text = ''; text !== JSON.stringify(data); seen.add(text)) {
      text = JSON.stringify(await list.nextData())
      expect(seen).not.toContain(text)
    }
    list.close()
  })

  it('is a query as any other if it is not to be live, or its response is JSON', async () => {
    const { tenant, make, follow } = await start()
    await make.user({ name: 'A' })
    const query = 'query ($live: Boolean!) @live(if: $live) { users { nodes { name } } }'
    const once = await app.graphql(tenant, query, { live: true })
    expect(once).toMatchObject({ data: nodes('users', [{ name: 'A' }]), extensions: { cost: {} } })
    expect(once).not.toHaveProperty('extensions.live')
    const off = await follow('query @live(if: false) { users { nodes { name } } }')
    expect(await off.nextData()).toEqual(nodes('users', [{ name: 'A' }]))
    expect(await off.next()).toMatchObject({ event: 'complete' })
  })

  it.each([
    ['query @live(throttle: 99) { users { nodes { id } } }', 'must be from 100 to 60000 milliseconds'],
    ['query @live(throttle: 60001) { users { nodes { id } } }', 'must be from 100 to 60000 milliseconds'],
    ['query @live { viewer { tenantApp { id } } }', 'because of Query.viewer'],
    ['query @live { profiles(accountIds: []) { id syncedAt } }', 'because of Profile.syncedAt'],
    ['query @live { profile(id: "a") { id growth(metric: FOLLOWERS) } }', 'because of Profile.growth'],
    ['query @live { profileStats { groups(by: [COUNTRY]) { count } } }', 'because of ProfileStats.groups'],
    ['query @live { node(id: "a") { ... on ApiKey { name } } }', 'because of ApiKey.name'],
    ['query @live { users { totalCountEstimate } }', 'because of UserConnection.totalCountEstimate'],
    ['mutation @live { deleteUser(input: { id: "a" }) { deletedId } }', 'may not be used on MUTATION'],
    ['subscription @live { events { id } }', 'may not be used on SUBSCRIPTION'],
  ])('is refused, with what is wrong: %s', async (query, message) => {
    const { tenant, follow } = await start()
    for (const errors of [
      (await app.graphql(tenant, query)).errors,
      (await (await follow(query)).next())?.data?.errors,
    ]) {
      expect(errors).toMatchObject([{ message: expect.stringContaining(message) }, ...(errors ?? []).slice(1)])
    }
  })

  it('is refused for a variable that is out of range', async () => {
    const { tenant } = await start()
    const query = 'query ($t: Int!) @live(throttle: $t) { users { nodes { id } } }'
    const stream = await subscribe(address, tenant.key, query, { t: 1 })
    expect(stream.status).toBe(422)
    stream.close()
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

describe('the reads of live queries', () => {
  it('are one for all who follow the same query with the same rights', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user()
    const query = 'query @live { users { nodes { name accounts { profile { id } } } } }'
    const lists = await Promise.all(Array.from({ length: 5 }, () => follow(query)))
    for (const list of lists) await list.nextData()
    const statements = await app.statementsOf(async () => {
      await setUser(tenant.tenantAppId, user.id, { name: 'New' })
      for (const list of lists) expect(await list.nextData()).toEqual(nodes('users', [{ name: 'New', accounts: [] }]))
      const late = await follow(query)
      expect(await late.nextData()).toEqual(nodes('users', [{ name: 'New', accounts: [] }]))
      late.close()
    })
    expect(readsOf('profile', statements)).toHaveLength(1)
    for (const list of lists) list.close()
  })

  it('are as rare as the query says while changes go on', async () => {
    const { tenant, make, follow } = await start()
    const user = await make.user()
    const list = await follow('query @live(throttle: 500) { users { nodes { name } } }')
    await list.nextData()
    const startedAt = performance.now()
    const statements = await app.statementsOf(async () => {
      for (let change = 0; performance.now() - startedAt < 1_200; change += 1) {
        await setUser(tenant.tenantAppId, user.id, { name: `${change}` })
      }
      await setUser(tenant.tenantAppId, user.id, { name: 'last' })
      for (let text = ''; !text.includes('last'); ) text = JSON.stringify(await list.nextData())
    })
    const most = Math.ceil((performance.now() - startedAt) / 500) + 1
    expect(readsOf('user', statements).length).toBeLessThanOrEqual(most)
    list.close()
  })

  it('are none after changes in another tenant, and of rows of which nothing is selected', async () => {
    const [mine, theirs] = [await start(), await start()]
    const user = await mine.make.user()
    const list = await mine.follow('query @live { users { nodes { name } } }')
    const others = [
      await theirs.follow('query @live { users { nodes { name } } }'),
      await mine.follow('query @live { accounts { nodes { id } } }'),
    ] as const
    for (const stream of [list, ...others]) await stream.nextData()
    const statements = await app.statementsOf(async () => {
      await theirs.make.user()
      await others[0].nextData()
      await mine.make.account(user.id)
      await others[1].nextData()
      await setUser(mine.tenant.tenantAppId, user.id, { name: 'New' })
      await list.nextData()
    })
    // One of their list, and one of mine.
    expect(readsOf('user', statements)).toHaveLength(2)
    for (const stream of [list, ...others]) stream.close()
  })

  it('are none for a token of a user after changes of other users, whom it does not see', async () => {
    const { tenant, make, follow } = await start()
    const [user, other] = [await make.user({ name: 'A' }), await make.user({ name: 'B' })]
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: user.id } },
    )
    const authorization = `Bearer ${data.createAccessToken.accessToken}`
    const query = 'query @live { users { nodes { name } } }'
    const [list, all] = [await follow(query, { authorization }), await follow(query)]
    expect(await list.nextData()).toEqual(nodes('users', [{ name: 'A' }]))
    expect(await all.nextData()).toEqual(nodes('users', [{ name: 'A' }, { name: 'B' }]))
    const statements = await app.statementsOf(async () => {
      await setUser(tenant.tenantAppId, other.id, { name: 'C' })
      expect(await all.nextData()).toEqual(nodes('users', [{ name: 'A' }, { name: 'C' }]))
      await setUser(tenant.tenantAppId, user.id, { name: 'D' })
      expect(await list.nextData()).toEqual(nodes('users', [{ name: 'D' }]))
      await all.nextData()
    })
    // One of the token, two of the key.
    expect(readsOf('user', statements)).toHaveLength(3)
    for (const stream of [list, all]) stream.close()
  })
})

describe.concurrent('the viewer of a live query', () => {
  it('sees the errors of withheld fields, and shares no result with a viewer who has more rights', async () => {
    const { tenant, make, follow } = await start()
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'k',
      scopes: ['users:read'],
    })
    const user = await make.user({ email: 'ada@example.com' })
    const query = 'query @live { users { nodes { name email } } }'
    const [less, all] = [await follow(query, key), await follow(query)]
    const withheld = { path: ['users', 'nodes', 0, 'email'], extensions: { code: 'FORBIDDEN' } }
    for (const name of [user.name, 'New']) {
      if (name === 'New') await setUser(tenant.tenantAppId, user.id, { name })
      expect(await less.nextMessage()).toMatchObject({
        data: nodes('users', [{ name, email: null }]),
        errors: [withheld],
      })
      expect(await all.nextData()).toEqual(nodes('users', [{ name, email: 'ada@example.com' }]))
    }
    for (const stream of [less, all]) stream.close()
  })

  it('gets FORBIDDEN and the end when a scope is lost', async () => {
    const { tenant, make, follow } = await start()
    const scopes = ['users:read', 'profiles:read']
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'k', scopes })
    const account = await make.account((await make.user()).id)
    const list = await follow('query @live { accounts { nodes { displayName profile { id } } } }', key)
    await list.nextData()
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { scopes: ['users:read'] } })
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'New' } })
    expect(await list.nextCode()).toBe('FORBIDDEN')
    expect(await list.next()).toMatchObject({ event: 'complete' })
  })
})

describe.concurrent('the points of a live query', () => {
  /** A budget that counts what is spent, refuses when it is told so, and has so many points left. */
  function createBudget() {
    const state = { reserved: [] as number[], spent: [] as number[], isEmpty: false, remaining: 1_000, toldAt: 0 }
    const budget = () => {
      state.toldAt = performance.now()
      return { points: 1_000, remaining: state.remaining, resetSeconds: 2 }
    }
    const limit: RateLimit = {
      async spend(_, points) {
        if (points > 0) state.spent.push(points)
        return budget()
      },
      async reserve(_, points) {
        if (state.isEmpty) {
          state.isEmpty = false
          throw new GatewayError('RATE_LIMITED', 'Empty.', { limit: 'points', headers: { 'retry-after': '1' } })
        }
        state.reserved.push(points.requested)
        return new Reservation({ ...points, budget: budget() })
      },
      charge: async () => undefined,
    }
    return { limit, state }
  }

  it('are those of the query for each read, and one for each other client that gets the result', async () => {
    const { tenant, make } = await start()
    const user = await make.user()
    const { limit, state } = createBudget()
    const limited = await app.startAnother({ rateLimit: limit })
    const page = 'users(first: 7, filter: { nameContains: "e" }) { nodes { id accounts { platform } } }'
    await limited.graphql(tenant, `{ ${page} }`)
    const [cost] = state.reserved.splice(0)
    expect(cost).toBe(7 + 7 * 5 + 50)
    state.spent.splice(0)
    const at = await addressOf(limited)
    const query = `query @live { ${page} }`
    const lists = [following(await subscribe(at, tenant.key, query)), following(await subscribe(at, tenant.key, query))]
    for (const list of lists) await list.nextData()
    await make.account(user.id)
    for (const list of lists) await list.nextData()
    expect(state.reserved).toEqual([cost, cost])
    // The others pay for the result that they get.
    expect(state.spent).toEqual([1, 1])

    // A change that cannot be paid is sent later, after Retry-After.
    state.isEmpty = true
    state.remaining = 400
    const startedAt = performance.now()
    await make.account(user.id, { platform: 'X' })
    for (const list of lists) await list.nextData()
    expect(performance.now() - startedAt).toBeGreaterThan(900)
    expect(state.reserved).toEqual([cost, cost, cost])

    // Less than half of the points were left, so the next change waits for the next minute.
    const { toldAt } = state
    await make.account(user.id, { platform: 'TWITCH' })
    for (const list of lists) await list.nextData()
    expect(performance.now() - toldAt).toBeGreaterThan(1_500)
    for (const list of lists) list.close()
    await limited.close()
  })

  it('are taken before a read is queued, so that other operations of the tenant need not wait for them', async () => {
    const { tenant } = await start()
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'other' })
    const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let waiting = 0
    const limit: RateLimit = {
      ...unlimited,
      async reserve(payer, points) {
        if (payer.keyId === tenant.keyId) {
          waiting += 1
          if (waiting === queries.length) asked.resolve()
          await allowed.promise
        }
        return unlimited.reserve(payer, points)
      },
    }
    // Two operations of a tenant run at a time.
    const queries = ['query @live { users { nodes { id } } }', 'query @live { users { nodes { name } } }']
    const limited = await app.startAnother({ rateLimit: limit })
    const at = await addressOf(limited)
    const lists = queries.map((query) => subscribe(at, tenant.key, query))
    await asked.promise
    const long = '{ users(first: 100) { nodes { id } } }'
    expect(await limited.graphql({ ...tenant, key }, long)).toMatchObject({ data: nodes('users', []) })
    allowed.resolve()
    for (const list of await Promise.all(lists)) list.close()
    await limited.close()
  })
})

/** How a stream ends that is to be opened again. */
const brokenOff: Readonly<Record<Transport, string>> = {
  'server-sent events': '200 text/event-stream, broken off',
  multipart: '200 multipart/mixed, broken off',
  WebSocket: '1001',
}

describe.concurrent.each(Object.keys(transports) as Transport[])('a live query over %s', (name) => {
  const query = 'query @live { users { nodes { name } } }'

  it('sends its results, and ends when its key is revoked', async () => {
    const { tenant, make } = await start()
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'revoked' })
    await make.user({ name: 'First' })
    const { until, ending } = await transports[name](address, key, query)
    await until('{"users":{"nodes":[{"name":"First"}]}},"extensions":{"live":{"revision":1}}')
    await make.user({ name: 'Second' })
    await until('"revision":2')
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
    await until('"nodes":[]')
    const follower = await stopping.services.events.follow({ ...tenant, keyId: 'test' })
    await make.user()
    await follower.next()
    follower.return()
    const closed = stopping.close()
    const { text, end } = await ending
    expect(end).toBe(brokenOff[name])
    expect(text).not.toMatch(completion)
    await closed
  })

  it('breaks off when the events that it shows are followed no longer', async () => {
    const { tenant } = await start()
    const stopped = await app.startAnother({})
    const events = 'query @live { events { nodes { id } } }'
    const { until, ending } = await transports[name](await addressOf(stopped), tenant.key, events)
    await until('"nodes":[]')
    await stopped.services.events.close()
    const { text, end } = await ending
    expect(end).toBe(brokenOff[name])
    expect(text).not.toMatch(completion)
    await stopped.close()
  })
})

describe('the places of live queries', () => {
  it('are those of subscriptions, and are given back', async () => {
    const tenant: TestTenant = await app.createTenant()
    const small = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const at = await addressOf(small)
    const query = 'query @live { users { nodes { id } } }'
    const first = following(await subscribe(at, tenant.key, query))
    await first.nextData()
    expect((await subscribe(at, tenant.key, query)).status).toBe(429)
    first.close()
    let status = 0
    for (; status !== 200; ) {
      const next = await subscribe(at, tenant.key, query)
      status = next.status
      next.close()
    }
    await small.close()
  })
})

describe('a client that accepts patches', () => {
  it('gets the differences where they are shorter, and has the results of the others', async () => {
    const { tenant, make, follow } = await start()
    const { tenantAppId } = tenant
    const users = []
    for (let at = 0; at < 8; at += 1) users.push(await make.user({ name: `name ${at}` }))
    const query = 'query @live { users(orderBy: { field: NAME, direction: ASC }) { nodes { id name } } }'
    const whole = await follow(query)
    const patched = following(await subscribe(address, tenant.key, query, undefined, { live: { patch: true } }))
    let data = (await patched.nextMessage()).data
    expect(data).toEqual(await whole.nextData())
    const [first, last] = [users[0]?.id ?? '', users[7]?.id ?? '']
    for (const change of [
      () => setUser(tenantAppId, first, { name: 'zzz' }),
      () => make.user({ name: 'name 3b' }),
      () => app.database.prisma.user.deleteMany({ where: { tenantAppId, id: last } }),
    ]) {
      await change()
      const { data: sent, extensions } = await patched.nextMessage()
      expect(sent).toBeUndefined()
      const copy = structuredClone(data)
      expect(applyPatch(copy, extensions.live.patch as Operation[]).filter((error) => error !== null)).toEqual([])
      data = copy
      expect(data).toEqual(await whole.nextData())
    }
    for (const { id } of users) await app.database.prisma.user.deleteMany({ where: { tenantAppId, id } })
    for (const stream of [whole, patched]) stream.close()
  })

  it('is refused for a value that is not true or false', async () => {
    const { tenant } = await start()
    const stream = await subscribe(address, tenant.key, 'query @live { users { nodes { id } } }', undefined, {
      live: { patch: 'yes' },
    })
    expect(stream.status).toBe(400)
    stream.close()
  })
})
