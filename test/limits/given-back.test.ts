import type { OperationRequest } from '@fusion-gateway/gateway-kit'
import { createPreparer, usedPoints } from '@fusion-gateway/gateway-kit'
import { createMemoryCounter, createRateLimit, Held } from '@fusion-gateway/limits'
import { createMetrics } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { openSocket } from '../support/web-socket.ts'

const log = { error: () => undefined, warn: () => undefined }
const budget = 60_000

const limit = createRateLimit(budget, { log, rejectionMilliseconds: 0 })

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ batching: true, responseCacheBytes: 16 * 1024 * 1024, rateLimit: limit })
})
afterAll(() => app.close())
beforeEach(async () => {
  tenant = await app.createTenant()
})

interface Answer {
  readonly headers: Readonly<Record<string, unknown>>
}

const numberIn = ({ headers }: Answer, name: string) => Number(headers[name])
const costOf = (answer: Answer) => [numberIn(answer, 'x-cost'), numberIn(answer, 'x-cost-requested')]
const remainingOf = ({ headers }: Answer) => Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1])

/** What is left of the points of the tenant. */
const left = async () => (await limit.spend(tenant, 0))?.remaining

const send = (method: 'GET' | 'HEAD', url: string, headers: Record<string, string> = {}) =>
  app.app.inject({ method, url, headers: { 'x-api-key': tenant.key, ...headers } })

const post = (payload: object, headers: Record<string, string> = {}) =>
  app.app.inject({ method: 'POST', url: '/graphql', payload, headers: { 'x-api-key': tenant.key, ...headers } })

/** A tenant with 55 users and 40 accounts. */
async function createSmallTenant(): Promise<readonly { readonly id: string }[]> {
  const create = factoriesFor(app, tenant)
  const users = []
  for (let number = 0; number < 55; number += 1) {
    const user = await create.user()
    users.push(user)
    if (number >= 40) continue
    await create.account(user.id)
  }
  return users
}

describe('GET /users', () => {
  it('can be polled every 100 ms by ten clients of a small tenant, while one of its users changes each second', async () => {
    const users = await createSmallTenant()
    const first = await send('GET', '/users')
    expect(costOf(first)).toEqual([95, 3_000])
    expect(remainingOf(first)).toBe(budget - 95)
    // A tenth of a minute, with a tenth of the points that a tenant has by default.
    for (let second = 0; second < 6; second += 1) {
      await post({
        query: 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }',
        variables: { input: { id: users[second]?.id, name: `Name ${second}` } },
      })
      for (let round = 0; round < 10; round += 1) {
        const responses = await Promise.all(Array.from({ length: 10 }, () => send('GET', '/users')))
        expect(responses.map(({ statusCode }) => statusCode)).toEqual(responses.map(() => 200))
        for (const response of responses) expect(response.json().users).toHaveLength(55)
        expect(responses[0]?.body).toContain(`"name":"Name ${second}"`)
      }
    }
    expect(await left()).toBeGreaterThan(budget / 3)
  })

  it('costs as much by HEAD, and little if it is kept', async () => {
    await createSmallTenant()
    expect(costOf(await send('HEAD', '/users'))).toEqual([95, 3_000])
    await send('GET', '/users')
    // Kept now: only its length is paid, and that only if it is sent.
    const kept = await send('GET', '/users')
    expect(kept.headers['cache-status']).toBe('fusion; hit')
    expect(numberIn(kept, 'x-cost')).toBeLessThanOrEqual(kept.body.length / 1_024)
    expect(costOf(await send('HEAD', '/users'))).toEqual([1, 3_000])
    expect(await left()).toBe(budget - 95 - 95 - numberIn(kept, 'x-cost') - 1)
    // As a list of several pages, it has no tag.
    expect([kept.headers['etag'], kept.headers['cache-control']]).toEqual([undefined, 'no-store'])
  })

  it('by pages costs little if the client has the page already', async () => {
    await createSmallTenant()
    const [url, full] = ['/users?limit=50', 50 + 40]
    const { headers, ...first } = await send('GET', url)
    expect(costOf({ headers })).toEqual([full, 300])
    const asked = { 'if-none-match': String(headers['etag']) }
    const read = await send('GET', url, asked)
    // The rows were read to know the tag.
    expect([first.statusCode, read.statusCode, ...costOf(read)]).toEqual([200, 304, full, 300])
    const kept = await send('GET', url, asked)
    expect([kept.statusCode, ...costOf(kept), remainingOf(kept)]).toEqual([304, 1, 300, budget - 2 * full - 1])
    expect(await left()).toBe(budget - 2 * full - 1)
  })

  it('of several pages gives back the rest at its end', async () => {
    await app.database.prisma.user.createMany({
      data: Array.from({ length: 1_001 }, (_, number) => ({
        tenantAppId: tenant.tenantAppId,
        id: `usr_${number}`,
        name: 'A',
        email: 'a@example.com',
      })),
    })
    // The first of these keeps nothing, although a page of the same length is kept.
    for (const url of ['/users?limit=500', '/users?limit=500', '/users']) await send('GET', url)
    const before = Number(await left())
    const whole = await send('GET', '/users')
    expect(whole.json().users).toHaveLength(1_001)
    // Its headers are sent before its end is read.
    expect([...costOf(whole), remainingOf(whole)]).toEqual([3_000, 3_000, before - 3_000])
    expect(await left()).toBe(before - 1_001)
    expect(costOf(await send('HEAD', '/users'))).toEqual([500, 3_000])
  })
})

describe('what was not used is given back', () => {
  it('for a request that is rejected when it runs', async () => {
    const ids = Array.from({ length: 600 }, (_, number) => `a${number}`)
    const rejected = await send('GET', `/fusion/profiles?account_ids=${ids.join()}`)
    expect([rejected.statusCode, ...costOf(rejected)]).toEqual([422, 1, 1_800])
    expect(remainingOf(rejected)).toBe(budget - 1)
    const found = await send('GET', `/fusion/profiles?account_ids=${ids.slice(0, 100).join()}`)
    // An id that no row has was looked for.
    expect([found.statusCode, ...costOf(found)]).toEqual([200, 100, 300])
  })

  it('says so in the response, alone, in a batch and over a WebSocket', async () => {
    const create = factoriesFor(app, tenant)
    for (let number = 0; number < 3; number += 1) await create.user()
    const query = '{ users(first: 100) { nodes { id } totalCount } }'
    const cost = { requested: 150, actual: 53, remaining: expect.any(Number) }
    const alone = await post({ query })
    expect(alone.json().extensions.cost).toEqual({ ...cost, remaining: budget - 53 })
    expect(remainingOf(alone)).toBe(budget - 53)
    const batch = await post([{ query }, { query: `query B ${query}` }] as never)
    expect(batch.json()).toMatchObject([{ extensions: { cost } }, { extensions: { cost } }])
    expect(costOf(batch)).toEqual([106, 300])
    const client = await openSocket(await addressOf(app))
    client.send({ type: 'connection_init', payload: { 'x-api-key': tenant.key } })
    await client.next()
    client.send({ type: 'subscribe', id: '1', payload: { query: `query C ${query}` } })
    expect(await client.next()).toMatchObject({ type: 'next', payload: { extensions: { cost } } })
    client.socket.close()
    expect(await left()).toBe(budget - 4 * 53)
  })

  it('for a response from memory, and for a repeated mutation', async () => {
    const create = factoriesFor(app, tenant)
    for (let number = 0; number < 3; number += 1) await create.user()
    const query = '{ users(first: 100, filter: { nameContains: "User" }) { nodes { id } totalCount } }'
    const asked = []
    for (let run = 0; run < 3; run += 1) asked.push(costOf(await post({ query })))
    expect(asked).toEqual([
      [103, 200],
      [103, 200],
      [1, 200],
    ])
    const inputs = Array.from({ length: 10 }, (_, number) => ({ name: `N${number}`, email: 'n@example.com' }))
    // The users are not selected, and were created.
    const mutation =
      'mutation ($inputs: [CreateUserInput!]!) { createUsers(inputs: $inputs) { results { userErrors { code } } } }'
    const write = () => post({ query: mutation, variables: { inputs } }, { 'idempotency-key': `key-${tenant.keyId}` })
    expect(costOf(await write())).toEqual([10, 10])
    const repeated = await write()
    expect([repeated.headers['idempotent-replayed'], ...costOf(repeated)]).toEqual(['true', 1, 10])
  })

  it('for a worker that polls for jobs', async () => {
    const query = 'mutation { claimJobs(input: { jobTypes: ["a"], limit: 100 }) { leases { job { id } } } }'
    expect(costOf(await post({ query }))).toEqual([1, 100])
    await post({
      query: `mutation { createJobs(inputs: [${'{ jobType: "a" } '.repeat(3)}]) { results { job { id } } } }`,
    })
    expect(costOf(await post({ query }))).toEqual([3, 100])
    // The response does not say how many were claimed.
    const unseen = 'mutation { claimJobs(input: { jobTypes: ["a"], limit: 100 }) { userErrors { code } } }'
    expect(costOf(await post({ query: unseen }))).toEqual([100, 100])
  })

  it('for each event of a subscription, and for one that gets none', async () => {
    const create = factoriesFor(app, tenant)
    const user = await create.user()
    const ofEvents = 'subscription { events { id user { accounts { id profile { id } } } } }'
    const nothing = await subscribe(await addressOf(app), tenant.key, ofEvents)
    expect(await left()).toBeLessThan(budget - 10)
    nothing.close()
    await vi.waitFor(async () => expect(await left()).toBe(budget - 1))
    const query = `subscription { user(id: "${user.id}") { id accounts(first: 100) { id } } }`
    const events = await subscribe(await addressOf(app), tenant.key, query)
    await events.next()
    expect(await left()).toBe(budget - 1 - 1)
    await create.account(user.id)
    expect((await events.next())?.data?.data).toMatchObject({ user: { accounts: [{}] } })
    expect(await left()).toBe(budget - 1 - 1 - 2)
    events.close()
  })

  it('is counted in the metrics and in the usage', async () => {
    const metrics = createMetrics()
    const limit = createRateLimit(100, { log, metrics })
    const spent: number[] = []
    const onEnd = (points: number) => void spent.push(points)
    const reservation = await limit.reserve({ tenantAppId: 'a', keyId: 'k' }, { requested: 50, onEnd })
    reservation.begin()
    reservation.use(7)
    await reservation.settle()
    for (let time = 0; time < 2; time += 1) reservation.end()
    expect(spent).toEqual([7])
    expect(await metrics.registry.metrics()).toContain('fusion_points_spent_total 7')
  })
})

describe('points', () => {
  const payer = { tenantAppId: 'tenant', keyId: 'key' }

  it('are taken before anything runs, so that requests at the same time do not spend more than there is', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const tries = Array.from({ length: 10 }, () => limit.reserve(payer, { requested: 40 }))
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    for (const one of outcomes) if (one.status === 'fulfilled') one.value.end()
    // Each has kept the least cost.
    expect(await limit.spend(payer, 0)).toMatchObject({ remaining: 98 })
  })

  it('are given back by whatever ends a request that has not begun, and kept if its client leaves while it runs', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const [waits, runs] = [new Held(), new Held()]
    waits.holdPoints(await limit.reserve(payer, { requested: 40 }))
    const running = await limit.reserve(payer, { requested: 30 })
    runs.holdPoints(running)
    running.begin()
    for (const held of [waits, runs]) held.end()
    running.use(1)
    await running.settle()
    expect(await limit.spend(payer, 0)).toMatchObject({ remaining: 100 - 1 - 30 })
    // The client has left before the points were taken.
    waits.holdPoints(await limit.reserve(payer, { requested: 40 }))
    expect(await limit.spend(payer, 0)).toMatchObject({ remaining: 100 - 2 - 30 })
  })

  it('are kept for the body of a request, whatever ends it', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const held = new Held()
    held.holdPoints(await limit.reserve(payer, { requested: 40, least: 20 }))
    held.end()
    expect(await limit.spend(payer, 0)).toMatchObject({ remaining: 80 })
    const points = await limit.reserve(payer, { requested: 40, least: 20 })
    points.begin()
    // Of what ran, no more than was requested is spent.
    points.use(50)
    await points.settle()
    expect(points.points).toBe(40)
  })

  it('are never given back twice, nor more of them than were taken', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const points = await limit.reserve(payer, { requested: 10 })
    points.begin()
    points.use(4)
    // A response that is longer than what was taken pays for.
    await points.settle(25)
    expect([points.points, points.budget?.remaining]).toEqual([25, 75])
    for (let time = 0; time < 3; time += 1) points.dropResponse()
    // The points that were charged afterwards stay: they can be of another minute.
    expect([points.points, points.budget?.remaining]).toEqual([15, 85])
    points.end()
    expect(await limit.spend(payer, 0)).toMatchObject({ remaining: 85 })
  })

  it('are given back to the minute from which they were taken, or not at all', async () => {
    let now = 0
    const take = createMemoryCounter(() => now)
    const limits = [{ name: 'tenant', points: 100 }]
    const early = await take(limits, 60)
    now = 59_999
    early.giveBack(20)
    expect(await take(limits, 0)).toMatchObject({ spent: [{ spent: 40 }] })
    now = 60_000
    expect(await take(limits, 30)).toMatchObject({ spent: [{ spent: 30 }] })
    early.giveBack(40)
    expect(await take(limits, 0)).toMatchObject({ spent: [{ spent: 30 }] })
  })
})

describe('an operation has used', () => {
  const preparer = createPreparer({ schemas, introspection: true, metrics: createMetrics() })
  const error = (code: string, ...path: (string | number)[]) => ({ path, extensions: { code } })

  function used(text: string, result: object, { variables = {}, hasTimedOut = false } = {}) {
    const { operation } = preparer.prepare(text)
    const points = { requested: operation?.costOf(variables) }
    return usedPoints(
      { operation, variables, statements: { hasTimedOut }, held: { points } } as unknown as OperationRequest,
      result as never,
    )
  }

  const list = '{ users(first: 100, filter: { nameContains: "a" }) { nodes { id email } totalCount } }'
  const nodes = [{ id: '1', email: null }]
  const requested = 100 + 50 + 50

  it.each<[string, string, object, number]>([
    ['what the response has', list, { data: { users: { nodes, totalCount: 1 } } }, 50 + 50 + 1],
    [
      'a point for each error',
      '{ users(first: 100) { nodes { a: email b: email } } }',
      {
        data: { users: { nodes: [{ a: null, b: null }] } },
        errors: ['a', 'b'].map((key) => error('FORBIDDEN', 'users', 'nodes', 0, key)),
      },
      2,
    ],
    ['one for a list that is rejected', list, { data: { users: null }, errors: [error('BAD_USER_INPUT', 'users')] }, 1],
    [
      'all, if an error below has removed the list',
      list,
      { data: { users: null }, errors: [error('FORBIDDEN', 'users', 'nodes', 0, 'id')] },
      requested,
    ],
    [
      'all, if its filter took too long',
      list,
      { data: { users: null }, errors: [error('TOO_EXPENSIVE', 'users')] },
      requested,
    ],
    ['all, if the gateway failed', list, { data: { users: null }, errors: [error('INTERNAL', 'users')] }, requested],
    [
      'one, if the database could not be asked',
      list,
      { data: { users: null }, errors: [error('SERVICE_UNAVAILABLE', 'users')] },
      1,
    ],
    ['one, if its variables were rejected', list, { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] }, 1],
    [
      'the page, if the response does not have its rows',
      '{ users(first: 100) { pageInfo { hasNextPage } } }',
      { data: { users: { pageInfo: {} } } },
      100,
    ],
    [
      'the rows of both lists',
      '{ users(first: 9) { nodes { id } edges { node { id } } } }',
      { data: { users: { nodes: [{}, {}], edges: [{ node: {} }, { node: {} }] } } },
      4,
    ],
    [
      'ids that were not found',
      '{ nodes(ids: ["a", "b", "c"]) { id ... on User { accounts { id } } } }',
      { data: { nodes: [null, { accounts: [] }, null] } },
      3,
    ],
    [
      'each root field',
      '{ a: users { nodes { id } } b: users { nodes { id } } }',
      { data: { a: { nodes: [] }, b: { nodes: [] } } },
      2,
    ],
    [
      'the inputs of a write',
      'mutation { deleteUsers(inputs: [{ id: "a" }, { id: "b" }]) { userErrors: results { userErrors { code } } } }',
      { data: { deleteUsers: { userErrors: [{}, {}] } } },
      2,
    ],
    [
      'what its mutations before have done',
      'mutation { a: cancelJobs(input: { filter: {} }) { cancelledCount } b: cancelJobs(input: { filter: {} }) { cancelledCount } }',
      { data: null, errors: [error('BAD_USER_INPUT', 'b')] },
      2 * (50 + 1_000 + 1),
    ],
  ])('%s', (_case, text, result, points) => {
    expect(used(text, result)).toBe(points)
  })

  it('all, if a statement took too long', () => {
    expect(
      used(list, { data: { users: null }, errors: [error('SERVICE_UNAVAILABLE', 'users')] }, { hasTimedOut: true }),
    ).toBe(requested)
  })

  it('the fields that its variables select', () => {
    const text =
      'query ($with: Boolean!, $first: Int) { users(first: $first) { nodes @include(if: $with) { id } totalCount @skip(if: $with) } }'
    expect(used(text, { data: { users: { totalCount: 3 } } }, { variables: { with: false, first: 80 } })).toBe(80)
    expect(used(text, { data: { users: { nodes: [{}] } } }, { variables: { with: true, first: 80 } })).toBe(1)
  })
})
