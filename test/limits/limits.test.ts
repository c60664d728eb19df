import { setTimeout } from 'node:timers/promises'
import { createPreparer } from '@fusion-gateway/gateway-kit'
import { createMemoryCounter, createRateLimit } from '@fusion-gateway/limits'
import { waitFor } from '@fusion-gateway/sql'
import { createMetrics } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

function post(query: string, variables?: object, to: TestApp = app, key = tenant.key) {
  return to.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': key },
    payload: { query, variables },
  })
}

/** A query that uses all points that it may cost: each id is looked for. */
const lookUp = (count: number) => `{ nodes(ids: [${'"nobody" '.repeat(count)}]) { id } }`

describe('a point counter', () => {
  const limits = [{ name: 'tenant', points: 100 }]

  it('takes nothing for a rejected operation, so the budget of others does not change', async () => {
    const take = createMemoryCounter()
    const outcomes = await Promise.all([take(limits, 90), take(limits, 100), take(limits, 10)])
    expect(outcomes.map(({ isTaken, spent }) => [isTaken, spent[0]?.spent])).toEqual([
      [true, 90],
      [false, 90],
      [true, 100],
    ])
  })

  it('starts each minute with exactly the whole budget, also after rejected operations', async () => {
    let now = 0
    const take = createMemoryCounter(() => now)
    await take(limits, 60)
    now = 59_999
    expect(await take(limits, 60)).toMatchObject({ isTaken: false, spent: [{ spent: 60, resetMilliseconds: 1 }] })
    now = 60_000
    expect(await take(limits, 100)).toMatchObject({ isTaken: true, spent: [{ spent: 100 }] })
    expect(await take(limits, 1)).toMatchObject({ isTaken: false, spent: [{ spent: 100 }] })
    expect(await take([{ name: 'other', points: 100 }], 1)).toMatchObject({ isTaken: true, spent: [{ spent: 1 }] })
  })
})

describe('the cost of bytes', () => {
  const log = { error: () => undefined, warn: () => undefined }
  const remainingOf = (response: { headers: Record<string, unknown> }) =>
    Number(/r=(\d+)/.exec(String(response.headers['ratelimit']))?.[1])
  let limited: TestApp
  beforeAll(async () => {
    limited = await app.startAnother({ rateLimit: createRateLimit(10_000, { log, rejectionMilliseconds: 0 }) })
  })
  afterAll(() => limited.close())

  it('is a point per KiB of a body that is longer than its nodes pay for', async () => {
    const { key } = await limited.createTenant()
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }'
    const short = await post(query, { ids: ['a', 'b', 'c'] }, limited, key)
    expect([short.headers['x-cost'], remainingOf(short)]).toEqual(['3', 9_997])
    const long = await post(query, { ids: ['a'.repeat(20 * 1_024)] }, limited, key)
    expect([long.headers['x-cost'], long.json().extensions.cost.requested, remainingOf(long)]).toEqual([
      '20',
      20,
      9_977,
    ])
  })

  it('is the same for a route', async () => {
    const mine = await limited.createTenant()
    const user = { name: 'Ada', email: 'ada@example.com', phone: '1', more: 'a'.repeat(20 * 1_024) }
    const created = await limited.rest(mine, 'POST', '/users', user)
    expect([created.statusCode, created.headers['x-cost']]).toEqual([201, '20'])
  })

  it('is a point per KiB of a response, and ten if the response is stored', async () => {
    const mine = await limited.createTenant()
    const payload = { text: 'x'.repeat(50 * 1_024) }
    const query =
      'mutation ($payload: JSONObject) { createJob(input: { jobType: "x", payload: $payload }) { job { id payload } } }'
    const created = await post(query, { payload }, limited, mine.key)
    expect(created.headers['x-cost']).toBe('50')
    const { id } = created.json().data.createJob.job
    const read = await post('query ($id: ID!) { job(id: $id) { payload } }', { id }, limited, mine.key)
    expect([read.headers['x-cost'], remainingOf(read)]).toEqual(['50', 9_900])
    const stored = await limited.app.inject({
      method: 'POST',
      url: '/graphql',
      payload: { query, variables: { payload } },
      headers: { 'x-api-key': mine.key, 'idempotency-key': 'k' },
    })
    expect([stored.headers['x-cost'], remainingOf(stored)]).toEqual(['500', 9_400])
    const replayed = await limited.app.inject({
      method: 'POST',
      url: '/graphql',
      payload: { query, variables: { payload } },
      headers: { 'x-api-key': mine.key, 'idempotency-key': 'k' },
    })
    expect([replayed.headers['idempotent-replayed'], replayed.headers['x-cost']]).toEqual(['true', '50'])
  })

  it('is taken for a response that was too long, and the key has none left then', async () => {
    const mine = await limited.createTenant()
    await limited.database.prisma.job.createMany({
      data: { tenantAppId: mine.tenantAppId, id: 'job_long', payload: { text: 'x'.repeat(60 * 1_024) } },
    })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const ask = (count: number) =>
      post(query, { ids: Array.from({ length: count }, () => 'job_long') }, limited, mine.key)
    const tooLong = await ask(200)
    expect(tooLong.json().errors[0].extensions.code).toBe('TOO_EXPENSIVE')
    // The length is counted up to the text that exceeds 8 MiB.
    const left = 10_000 - 8 * 1_024
    expect(remainingOf(tooLong)).toBeGreaterThan(left - 60)
    expect(remainingOf(tooLong)).toBeLessThanOrEqual(left)
    expect(remainingOf(await ask(40))).toBe(0)
    expect((await ask(1)).statusCode).toBe(429)
  })

  it('is taken for the first event of a subscription too', async () => {
    const mine = await limited.createTenant()
    await limited.database.prisma.job.createMany({
      data: { tenantAppId: mine.tenantAppId, id: 'job_event', payload: { text: 'x'.repeat(60 * 1_024) } },
    })
    const events = await subscribe(
      await addressOf(limited),
      mine.key,
      'subscription { job(id: "job_event") { payload } }',
    )
    expect((await events.next())?.data?.errors).toBeUndefined()
    events.close()
    expect(remainingOf(await post('{ viewer { keyName } }', {}, limited, mine.key))).toBe(10_000 - 60 - 1)
  })

  it('is taken for each event of a subscription, with what its fields cost besides nodes', async () => {
    const mine = await limited.createTenant()
    const { tenantAppId } = mine
    const { prisma } = limited.database
    await prisma.user.create({ data: { tenantAppId, id: 'usr_event', name: 'a', email: '', phone: '' } })
    const cursor = Buffer.from('["accounts","createdAt","1769846400000","acc_1"]').toString('base64url')
    const page = `accountsConnection(first: 0, after: "${cursor}", filter: { platform: "X" }) { totalCount pageInfo { hasPreviousPage } }`
    const text = `subscription { user(id: "usr_event") { name a: ${page} b: ${page} } }`
    const events = await subscribe(await addressOf(limited), mine.key, text)
    // A node, and of each page: the cursor and its flag, the condition, the count.
    const points = 1 + 2 * (10 + 5 + 5)
    expect((await events.next())?.data?.data).toMatchObject({ user: { name: 'a' } })
    const rename = 'mutation { updateUser(input: { id: "usr_event", name: "b" }) { user { id } } }'
    await post(rename, {}, limited, mine.key)
    expect((await events.next())?.data?.data).toMatchObject({ user: { name: 'b' } })
    events.close()
    expect(remainingOf(await post('{ viewer { keyName } }', {}, limited, mine.key))).toBe(10_000 - 2 * points - 1 - 1)
  })

  it('is a point for 100 characters of a new document with errors. A key without points cannot send one', async () => {
    const poor = await app.startAnother({ rateLimit: createRateLimit(1_000, { log, rejectionMilliseconds: 0 }) })
    onTestFinished(() => poor.close())
    const { key } = await poor.createTenant()
    const invalid = (name: string, fields: number) =>
      `query ${name} { ${Array.from({ length: fields }, (_, index) => `nobody_${index}`).join(' ')} }`
    const points = Math.floor(invalid('a0', 900).length / 100)
    const budget = async () => remainingOf(await post('{ viewer { keyName } }', {}, poor, key))
    const before = await budget()
    for (let copy = 0; copy < 2; copy += 1) {
      expect((await post(invalid('a0', 900), {}, poor, key)).json().errors[0].message).toContain('nobody_0')
    }
    expect(before - (await budget())).toBe(points + 1)
    let response = await post(invalid('b0', 900), {}, poor, key)
    for (let index = 1; response.statusCode === 200; index += 1)
      response = await post(invalid(`b${index}`, 900), {}, poor, key)
    expect([response.statusCode, response.json().errors[0].message]).toEqual([
      429,
      'The tenant has no points left in this minute.',
    ])
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('the cost', () => {
  const preparer = createPreparer({ schemas, introspection: true, metrics: createMetrics() })
  const costOf = (text: string, variables: object, operationName?: string) =>
    preparer.prepare(text, operationName).operation?.costOf(variables as Record<string, unknown>)

  it.each<[string, object, number]>([
    ['{ viewer { keyName } }', {}, 1],
    ['{ __schema { types { name } } }', {}, 1],
    ['{ user(id: "a") { id } }', {}, 1],
    ['{ users { nodes { id } } }', {}, 20],
    ['{ users(first: 3) { nodes { id } } }', {}, 3],
    ['{ users(last: 4) { edges { node { id } } } }', {}, 4],
    ['{ users(first: 3) { totalCount pageInfo { hasNextPage } } }', {}, 50],
    ['query ($filter: JobFilter) { jobs(first: 90, filter: $filter) { totalCount } }', {}, 90],
    ['{ users(first: 3, filter: { nameContains: "a" }) { nodes { id } } }', {}, 50 + 3],
    [
      'query ($filter: UserFilter) { users(first: 3, filter: $filter) { totalCount } }',
      { filter: { nameContains: 'a' } },
      100,
    ],
    [
      'query ($filter: UserFilter) { users(first: 3, filter: $filter) { nodes { id } } }',
      { filter: { nameContains: null } },
      3,
    ],
    [
      'query ($filter: UserFilter) { users(first: 3, filter: $filter) { nodes { id } } userStats(filter: $filter) { count } }',
      { filter: { and: Array.from({ length: 21 }, () => ({ email: 'a' })) } },
      3 + 50 + 50 + 50,
    ],
    ['{ webhooks(first: 3) { nodes { deliveries(first: 0) { __typename } } } }', {}, 3 * (1 + 1 + 5)],
    ['{ jobs(first: 2) { nodes { payload result } } }', {}, 2],
    ['{ jobs(first: 2) { nodes { a: payload b: payload ... on Job { a: payload } } } }', {}, 2 * (1 + 256)],
    ['{ users(first: -1) { nodes { id } } }', {}, 20],
    ['{ users(first: 0) { nodes { id accounts { id } } totalCount } }', {}, 1 + 5 + 50],
    ['{ nodes(ids: []) { ... on User { accounts { id } } } }', {}, 6],
    ['{ a: viewer { keyName } b: viewer { keyName } }', {}, 2],
    ['query ($n: Int) { users(first: $n) { nodes { id } } }', { n: 1.5 }, 20],
    ['mutation { claimJobs(input: { jobTypes: ["a"], limit: 9 }) { userErrors { code } } }', {}, 9],
    ['{ users(first: 100000) { nodes { id } } }', {}, 500],
    ['{ users(first: 3) { nodes { id accounts { id } } } }', {}, 3 * (1 + 5)],
    ['{ users(first: 2) { nodes { accounts { profile { emails { id } } } } } }', {}, 2 * (1 + 5 * (1 + 1 + 2))],
    ['{ users(first: 1) { nodes { id } edges { node { id } } } }', {}, 2],
    ['{ a: user(id: "a") { id } b: user(id: "b") { id } }', {}, 2],
    ['query ($n: Int) { users(first: $n) { nodes { id } } }', { n: 7 }, 7],
    ['query ($n: Int = 9) { users(first: $n) { nodes { id } } }', {}, 9],
    ['query ($n: Int) { users(first: $n) { nodes { id } } }', {}, 20],
    ['query ($n: Int) { users(first: $n) { nodes { id } } }', { n: 'x' }, 20],
    ['query ($n: Int) { users(first: $n) { nodes { id } } }', { n: -1 }, 20],
    ['{ nodes(ids: ["a", "b", "c"]) { id } }', {}, 3],
    ['query ($ids: [ID!]!) { profiles(accountIds: $ids) { emails { id } } }', { ids: ['a', 'b'] }, 2 * (1 + 2)],
    ['query ($ids: [ID!]!) { profiles(accountIds: $ids) { id } }', { ids: 'a' }, 1],
    ['{ users(first: 2) { ...A } } fragment A on UserConnection { nodes { ...B } } fragment B on User { id }', {}, 2],
    ['{ node(id: "a") { ... on User { accounts { id } } ... on Profile { emails { id } } } }', {}, 1 + 5 + 2],
    ['mutation { createUser(input: { name: "", email: "", phone: "" }) { user { id } userErrors { code } } }', {}, 1],
    ['mutation { claimJobs(input: { jobTypes: ["a"], limit: 50 }) { leases { job { id } } } }', {}, 50],
    ['mutation { cancelJobs(input: { filter: {} }) { cancelledCount } }', {}, 50 + 1_000 + 1],
    ['mutation { retryJobs(input: { filter: {}, limit: 7 }) { retriedCount remainingCount } }', {}, 50 + 7 + 50],
    ['mutation { retryJobs(input: { filter: {}, limit: 1001 }) { retriedCount } }', {}, 50 + 1_000 + 1],
    [
      'mutation ($input: CancelJobsInput!) { cancelJobs(input: $input) { remainingCount } }',
      { input: { filter: { jobType: 'a' }, limit: 9 } },
      50 + 9 + 50,
    ],
    ['subscription { jobs(first: 30) { id } }', {}, 30],
    // The fields of the response, each once.
    [
      'query ($with: Boolean!) { users(first: 3) { nodes { accounts @include(if: $with) { id } } } }',
      { with: false },
      3,
    ],
    [
      'query ($with: Boolean!) { users(first: 3) { nodes { accounts @include(if: $with) { id } } } }',
      { with: true },
      18,
    ],
    [
      'query ($without: Boolean = true) { users(first: 3) { nodes { id } } ... @skip(if: $without) { jobs { nodes { id } } } }',
      {},
      3,
    ],
    ['{ users(first: 3) { nodes { id accounts @skip(if: true) { id } } } }', {}, 3],
    [
      '{ users(first: 3) { nodes { ...A ...B accounts { id } } } } fragment A on User { accounts { platform } } fragment B on User { accounts { profile { id } } }',
      {},
      3 * (1 + 5 * (1 + 1)),
    ],
    ['{ jobs(first: 2) { nodes { payload ...A } } } fragment A on Job { payload }', {}, 2],
  ])('of %s with %j is %d', (query, variables, cost) => {
    expect(costOf(query, variables)).toBe(cost)
    expect(costOf(query, variables)).toBe(cost)
  })

  it('is the cost of the operation that runs, not of the document', () => {
    const document = 'query A { users { nodes { id } } } query B { user(id: "a") { id } }'
    expect([costOf(document, {}, 'A'), costOf(document, {}, 'B')]).toEqual([20, 1])
  })

  it('is returned with the response, next to the actual cost', async () => {
    for (let run = 0; run < 3; run += 1) {
      const response = await post('{ users(first: 4) { nodes { accounts { profile { emails { id } } } } } }')
      expect([response.headers['x-cost-requested'], response.headers['x-cost']]).toEqual(['84', '4'])
      expect(response.json().extensions).toEqual({ cost: { requested: 84, actual: 4, remaining: null } })
    }
    const nothing = await post('query ($id: ID!) { node(id: $id) { ... on User { accounts { id } } } }', {
      id: 'nobody',
    })
    expect(nothing.json().extensions.cost).toEqual({ requested: 6, actual: 1, remaining: null })
  })

  it('is at most 20,000 points; a more expensive operation is rejected without a statement', async () => {
    const times = (count: number, field: string) =>
      Array.from({ length: count }, (_, at) => `n${at}: ${field}`).join(' ')
    const expensive = `users(first: 500) { nodes { ${times(7, 'accounts { id }')} } } ${times(4, 'users(first: 500) { nodes { id } }')}`
    const allowed = await post(`{ ${expensive} }`)
    const { 'x-cost-requested': requested } = allowed.headers
    expect([requested, allowed.statusCode, allowed.json().errors]).toEqual(['20000', 200, undefined])
    const statements = await app.statementsOf(async () => {
      for (let run = 0; run < 2; run += 1) {
        const rejected = await post(`{ ${expensive} user(id: "a") { id } }`)
        expect([rejected.headers['x-cost'], rejected.statusCode]).toEqual(['20001', 400])
        const extensions = { code: 'TOO_EXPENSIVE', cost: 20_001, maximum: 20_000 }
        const message =
          'The operation may cost 20001 points. At most 20000 are allowed. ' +
          'Most of its points come from: users.nodes.n0 (2500), users.nodes.n1 (2500), users.nodes.n2 (2500).'
        expect(rejected.json()).toEqual({ errors: [{ message, extensions }] })
      }
    })
    expect(statements).toEqual([])
  })

  it('of fragments that expand exponentially is rejected by the limit of fields', async () => {
    const chain = Array.from({ length: 120 }, (_, at) => `fragment F${at} on Viewer { ...F${at + 1} ...F${at + 1} }`)
    const response = await post(`{ viewer { ...F0 } } ${chain.join(' ')} fragment F120 on Viewer { keyName }`)
    expect(response.json().errors[0].message).toMatch(/^The operation selects more than 5000 fields/)
  })

  it('of a large tree below an empty list is rejected by the limits of fields and aliases', async () => {
    const fields = (at: number, field: string) =>
      Array.from({ length: 6 }, (_, copy) => `f${copy}: ${field} { ...F${at + 1} }`).join(' ')
    const chain = Array.from({ length: 10 }, (_, at) =>
      at % 2
        ? `fragment F${at} on Profile { id ${fields(at, 'account')} }`
        : `fragment F${at} on Account { id ${fields(at, 'profile')} }`,
    )
    const query = `{ nodes(ids: []) { ...F0 } } ${chain.join(' ')} fragment F10 on Account { id }`
    for (let run = 0; run < 3; run += 1) {
      const response = await post(query)
      expect(response.json().errors[0].message).toMatch(/more than 5000 fields|more than 60 aliases/)
    }
  })

  it.each([
    [60, true],
    [61, false],
  ])('is computed for %d aliases: %s', async (count, isAllowed) => {
    const aliases = Array.from({ length: count }, (_, at) => `a${at}: viewer { keyName }`)
    const response = await post(`{ ${aliases.join(' ')} }`)
    expect(response.json().errors === undefined).toBe(isAllowed)
    if (!isAllowed) expect(response.json().errors[0].message).toBe('The document has more than 60 aliases.')
  })
})

describe('the cost of a route', () => {
  it.each<[string, string, string]>([
    ['GET', '/users/nobody', '6'],
    ['GET', '/users?limit=10', String(10 * 6)],
    ['GET', '/users', String(500 * 6)],
    ['GET', '/fusion/profiles?account_ids=a,b,c', String(3 * 3)],
    ['GET', '/fusion/jobs/nobody', '1'],
  ])('%s %s is at most %s points', async (method, url, cost) => {
    expect((await app.rest(tenant, method, url)).headers['x-cost-requested']).toBe(cost)
  })
})

describe('the budget of a tenant', () => {
  const log = { error: () => undefined, warn: () => undefined }

  it('is shared by GraphQL and REST, can be spent completely, and is separate for each tenant', async () => {
    const limited = await app.startAnother({ rateLimit: createRateLimit(10, { log }) })
    try {
      const [mine, other] = [await limited.createTenant(), await limited.createTenant()]
      const first = await post('{ user(id: "a") { id } }', {}, limited, mine.key)
      expect(first.headers).toMatchObject({
        'x-cost': '1',
        'ratelimit-policy': '"points";q=10;w=60',
        ratelimit: expect.stringMatching(/^"points";r=9;t=(60|59)$/),
      })
      expect(first.json().extensions.cost).toEqual({ requested: 1, actual: 1, remaining: 9 })
      expect((await limited.rest(mine, 'GET', '/fusion/jobs/nobody')).headers['ratelimit']).toMatch(/r=8;/)
      expect((await post(lookUp(8), {}, limited, mine.key)).statusCode).toBe(200)

      const statements = await limited.statementsOf(async () => {
        const startedAt = performance.now()
        const rejected = await post('{ user(id: "a") { id } }', {}, limited, mine.key)
        // Clients that try again at once would delay others.
        expect(performance.now() - startedAt).toBeGreaterThan(990)
        expect(rejected.statusCode).toBe(429)
        expect(rejected.json()).toEqual({
          errors: [
            {
              message: 'The operation costs more points (1) than the tenant has left in this minute (0).',
              extensions: { code: 'RATE_LIMITED', cost: 1, maximum: 10, remaining: 0 },
            },
          ],
        })
        expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(50)
        // A new document goes through Yoga and is rejected in the same way.
        const newDocument = await post('query New { user(id: "a") { id } }', {}, limited, mine.key)
        expect([newDocument.statusCode, newDocument.json()]).toEqual([429, rejected.json()])
        const rest = await limited.rest(mine, 'GET', '/fusion/jobs/nobody')
        expect(rest.statusCode).toBe(429)
        expect(rest.headers['content-type']).toMatch(/problem/)
        expect(rest.json()).toMatchObject({ code: 'RATE_LIMITED', cost: 1, maximum: 10, remaining: 0 })
        expect(Number(rest.headers['retry-after'])).toBeGreaterThan(50)
        const written = await limited.rest(mine, 'POST', '/users', { name: 'a', email: 'a@b.c', phone: '1' })
        expect(written.statusCode).toBe(429)
      })
      expect(statements).toEqual([])
      expect(await limited.database.prisma.user.count({ where: { tenantAppId: mine.tenantAppId } })).toBe(0)
      expect((await post('{ user(id: "a") { id } }', {}, limited, other.key)).statusCode).toBe(200)
    } finally {
      await limited.close()
    }
  })

  it('is one for all keys of the tenant, also for those that it creates', async () => {
    const limited = await app.startAnother({ rateLimit: createRateLimit(10, { log, rejectionMilliseconds: 0 }) })
    try {
      const mine = await limited.createTenant()
      const create = 'mutation { createApiKey(input: { name: "another" }) { key } }'
      const created = await limited.graphql<{ createApiKey: { key: string } }>(mine, create)
      const another = created.data.createApiKey.key
      expect((await post(lookUp(9), {}, limited, another)).statusCode).toBe(200)
      const rejected = await post('{ user(id: "a") { id } }', {}, limited, mine.key)
      expect(rejected.json().errors[0].message).toContain('than the tenant has left in this minute (0)')
    } finally {
      await limited.close()
    }
  })

  it('has less for a key with a limit of its own, and its tokens', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const key = { tenantAppId: 'tenant', keyId: 'key', pointsPerMinute: 10 }
    expect(await limit.spend(key, 6)).toMatchObject({ points: 10, remaining: 4 })
    await expect(limit.spend({ ...key, userId: 'ada' }, 5)).rejects.toThrow('than the key has left in this minute (4)')
    expect(await limit.spend({ tenantAppId: 'tenant', keyId: 'other' }, 90)).toMatchObject({
      points: 100,
      remaining: 4,
    })
    await expect(limit.spend(key, 11)).rejects.toMatchObject({ code: 'TOO_EXPENSIVE' })
  })

  it('keeps a quarter for its keys, whatever the users of its tokens spend', async () => {
    const limit = createRateLimit(100, { log, rejectionMilliseconds: 0 })
    const user = (userId: string) => ({ tenantAppId: 'tenant', keyId: 'key', userId })
    for (const id of ['a', 'b', 'c']) await limit.spend(user(id), 25)
    await expect(limit.spend(user('d'), 1)).rejects.toThrow("the users of the tenant's tokens have left")
    expect(await limit.spend({ tenantAppId: 'tenant', keyId: 'key' }, 25)).toMatchObject({ remaining: 0 })
  })

  it('is not reduced by an invalid document, a missing scope, or a cost above the remaining points', async () => {
    const limited = await app.startAnother({ rateLimit: createRateLimit(10, { log, rejectionMilliseconds: 0 }) })
    try {
      const mine = await limited.createTenant()
      const { key } = await createKey(limited.database, {
        tenantAppId: mine.tenantAppId,
        name: 'a',
        scopes: ['jobs:read'],
      })
      const send = (query: string) => post(query, {}, limited, key)
      for (const query of ['{', '{ nobody }']) expect((await send(query)).statusCode).toBe(200)
      expect((await limited.rest({ ...mine, key }, 'GET', '/users/a')).statusCode).toBe(403)
      expect((await send(lookUp(8))).headers['ratelimit']).toMatch(/r=2;/)
      for (let run = 0; run < 3; run += 1) {
        const rejected = await send('{ jobs(first: 3) { nodes { id } } }')
        expect(rejected.json().errors[0].extensions).toEqual({
          code: 'RATE_LIMITED',
          cost: 3,
          maximum: 10,
          remaining: 2,
        })
      }
      // Waiting does not help if the cost is above the budget of a minute.
      const expensive = await send('{ jobs(first: 11) { nodes { id } } }')
      expect(expensive.json().errors[0].extensions).toEqual({ code: 'TOO_EXPENSIVE', cost: 11, maximum: 10 })
      expect((await send(lookUp(2))).headers['ratelimit']).toMatch(/r=0;/)
    } finally {
      await limited.close()
    }
  })
})

it('a process of several has its share of the points, and rejects what costs more', async () => {
  const limit = createRateLimit(100, { log: app.app.log, rejectionMilliseconds: 0, processes: 3 })
  expect(await limit.spend({ tenantAppId: 'tenant', keyId: 'key' }, 4)).toMatchObject({ points: 34, remaining: 30 })
  await expect(limit.spend({ tenantAppId: 'tenant', keyId: 'key' }, 31)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  await expect(limit.spend({ tenantAppId: 'tenant', keyId: 'key' }, 35)).rejects.toMatchObject({
    code: 'TOO_EXPENSIVE',
  })
})

it('the rows still exist after these tests', async () => {
  expect((await app.rest(tenant, 'GET', `/users/${rows.user.id}`)).statusCode).toBe(200)
})

describe('an operation', () => {
  /** Executes an operation, and returns whether it was queued. */
  async function isQueued(owner: TestTenant, query: string): Promise<boolean> {
    const run = vi.spyOn(app.services.queues.operations, 'run')
    expect((await post(query, {}, app, owner.key)).statusCode).toBe(200)
    const { length } = run.mock.calls
    run.mockRestore()
    return length > 0
  }

  it('is queued while its last runs took long, whatever it costs', async () => {
    const owner = await app.createTenant()
    const query = '{ user(id: "long") { id } }'
    expect(await isQueued(owner, query)).toBe(false)
    const { operationRuns } = app.services.metrics
    const inc = operationRuns.inc.bind(operationRuns)
    const slow = vi.spyOn(operationRuns, 'inc').mockImplementationOnce((labels) => {
      const endsAt = performance.now() + 20
      while (performance.now() < endsAt);
      inc(labels)
    })
    await post(query, {}, app, owner.key)
    slow.mockRestore()
    expect(await isQueued(owner, query)).toBe(true)
    await expect.poll(() => isQueued(owner, query), { interval: 0 }).toBe(false)
  })

  it('is queued when it runs for the first time and costs 100 points or more', async () => {
    const owner = await app.createTenant()
    expect(await isQueued(owner, 'query First { users(first: 100) { nodes { id } } }')).toBe(true)
    expect(await isQueued(owner, 'query Cheap { users(first: 99) { nodes { id } } }')).toBe(false)
  })

  it('does not count the time in which it waits for statements', async () => {
    const waits = { pending: 0, since: 0, milliseconds: 0 }
    const began = performance.now()
    await Promise.all([1, 2].map(() => waitFor({ statements: 0, waits }, () => setTimeout(20))))
    expect(waits.pending).toBe(0)
    expect(waits.milliseconds).toBeGreaterThan(19)
    // Both wait at the same time, which counts once.
    expect(waits.milliseconds).toBeLessThanOrEqual(performance.now() - began)
  })
})

describe('a user of a token', () => {
  it('spends at most a part of the points of the key, and other users and the key spend theirs', async () => {
    const limited = await app.startAnother({
      rateLimit: createRateLimit(100, { log: app.app.log, rejectionMilliseconds: 0, pointsPerUser: 20 }),
    })
    const owner = await limited.createTenant()
    const create = factoriesFor(limited, owner)
    const holders = await Promise.all(
      [1, 2].map(async () => {
        const { id } = await create.user()
        const mutation = `mutation { createAccessToken(input: { userId: "${id}" }) { accessToken } }`
        const { data } = await limited.graphql<{ createAccessToken: { accessToken: string } }>(owner, mutation)
        return { ...owner, token: data.createAccessToken.accessToken }
      }),
    )
    const [ada, bob] = holders as [TestTenant, TestTenant]
    const ask = async (by: TestTenant, first = 10) => (await limited.graphql(by, lookUp(first))).errors?.[0]
    expect([await ask(ada), await ask(ada)]).toEqual([undefined, undefined])
    expect(await ask(ada)).toMatchObject({
      message: expect.stringContaining('than the user has left'),
      extensions: { code: 'RATE_LIMITED', maximum: 20, remaining: 0 },
    })
    expect([await ask(bob), await ask(owner)]).toEqual([undefined, undefined])
    expect(await ask(bob, 21)).toMatchObject({ extensions: { code: 'TOO_EXPENSIVE', maximum: 20 } })
    expect(await ask(owner, 70)).toMatchObject({ extensions: { code: 'RATE_LIMITED', maximum: 100 } })
    await limited.close()
  })
})
