import { hash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { ApolloClient, CombinedGraphQLErrors, gql, InMemoryCache } from '@apollo/client/core'
import { BatchHttpLink } from '@apollo/client/link/batch-http'
import { createRateLimit } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { patientLoad } from '../support/patient-load.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ batching: true })
  tenant = await app.createTenant()
  const create = factoriesFor(app, tenant)
  for (const number of [1, 2, 3]) await create.user({ id: `usr_${number}`, name: `User ${number}` })
  await create.job({ id: 'job_long', payload: { text: 'x'.repeat(300_000) } })
})
afterAll(() => app.close())

type Sent = Readonly<Record<string, unknown>>

function post(payload: unknown, headers: Record<string, string> = {}, to: TestApp = app, key = tenant.key) {
  return to.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(payload),
  })
}

const createUser = (name: string) => ({
  query: `mutation { createUser(input: { name: "${name}", email: "b@example.com", phone: "1" }) { user { id name } userErrors { code } } }`,
})

const viewer = { query: 'query Who { viewer { keyName } }' }

/** The operations of a batch, each with what is peculiar about it. */
const operations: Readonly<Record<string, Sent>> = {
  'a query': { query: 'query Names { users(first: 2) { nodes { name } } }' },
  'a query with variables': {
    query: 'query One($id: ID!) { user(id: $id) { name accounts { id } } }',
    variables: { id: 'usr_2' },
  },
  'a rejected input': createUser(''),
  'a field error': { query: 'query Far { users(first: 501) { nodes { id } } viewer { keyName } }' },
  'an invalid document': { query: 'query Nope { nope }' },
  'a syntax error': { query: '{' },
  'an operation that costs too much': {
    query:
      'query Dear { users(first: 500) { nodes { accounts { profile { emails { id } } user { accounts { id } } } } } }',
  },
  'an unknown persisted query': { extensions: { persistedQuery: { version: 1, sha256Hash: 'f'.repeat(64) } } },
  'no query': {},
  'a wrong type': { query: 5 },
  'an invalid key for retries': { ...createUser('Key'), extensions: { idempotencyKey: 'ä' } },
  'a long response': { query: 'query Long { job(id: "job_long") { payload } }' },
}

const linesOf = (requestId: string) => app.log.filter((line) => String(line['requestId']).startsWith(requestId))

/** What of a line in the log depends on neither the time nor the request. */
function comparable(
  { time: _, durationMs: __, requestId: ___, sql, ...line }: Record<string, unknown>,
  lookups: number,
) {
  return { ...line, sql: Number(sql) - lookups }
}

describe('a batch', () => {
  it('has the results of its operations, in their order, as if each had been sent alone', async () => {
    const all = Object.entries(operations).filter(([name]) => name !== 'an invalid key for retries')
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      for (let start = 0; start < all.length; start += 6) {
        const some = all.slice(start, start + 6)
        const batch = await post(
          some.map(([, sent]) => sent),
          { accept },
        )
        expect(batch.statusCode).toBe(200)
        expect(batch.headers['content-type']).toBe(`${accept}; charset=utf-8`)
        const results = batch.json() as Sent[]
        expect(results).toHaveLength(some.length)
        const logged = linesOf(String(batch.headers['x-request-id'])).filter(({ msg }) => msg === 'request')
        for (const [index, [name, sent]] of some.entries()) {
          const alone = await post(sent, { accept })
          const withoutBudget = ({ extensions, ...result }: { extensions?: { cost: object } }) => ({
            ...result,
            ...(extensions && { extensions: { cost: { ...extensions.cost, remaining: null } } }),
          })
          expect(withoutBudget(results[index] as object), name).toEqual(withoutBudget(alone.json()))
          const id = `${batch.headers['x-request-id']}.${index + 1}`
          const line = logged.find(({ requestId }) => requestId === id)
          const [ofAlone] = linesOf(String(alone.headers['x-request-id'])).filter(({ msg }) => msg === 'request')
          // The key is read once for all operations of a batch.
          expect(comparable(line ?? {}, 0), name).toEqual(comparable(ofAlone ?? {}, 1))
        }
        expect(logged.at(-1)).toMatchObject({ route: 'BATCH /graphql', status: 200 })
        expect(logged).toHaveLength(some.length + 1)
      }
    }
  })

  it('can be one, or ten operations, of which one is each of these', async () => {
    expect((await post([viewer])).json()).toMatchObject([{ data: { viewer: {} } }])
    const ten = Array.from({ length: 10 }, (_, index) => ({ query: `query { user(id: "usr_${index}") { name } }` }))
    const names = ((await post(ten)).json() as { data: { user: { name: string } | null } }[]).map(
      ({ data }) => data.user,
    )
    const named = (number: number) => ({ name: `User ${number}` })
    expect(names).toEqual([null, named(1), named(2), named(3), null, null, null, null, null, null])
  })

  it('pays for each operation, and says what all have cost', async () => {
    const log = { error: () => undefined, warn: () => undefined }
    const limited = await app.startAnother({ batching: true, rateLimit: createRateLimit(1_000, { log }) })
    const page = (first: number) => ({ query: `{ users(first: ${first}) { nodes { id } } }` })
    /** Its response does not show how many rows were read. */
    const whole = (first: number) => ({ query: `{ users(first: ${first}) { pageInfo { hasNextPage } } }` })
    const batch = [whole(100), page(200), viewer]
    const paid = await post(batch, {}, limited)
    // The second one finds its documents prepared, so that all its operations begin before one ends.
    for (const [{ headers }, left] of [[paid, 896] as const, [await post(batch, {}, limited), 792] as const]) {
      expect(headers).toMatchObject({
        'x-cost-requested': '301',
        'x-cost': String(100 + 3 + 1),
        ratelimit: expect.stringMatching(new RegExp(`^"points";r=${left};t=\\d+$`)),
      })
    }
    const costs = (paid.json() as { extensions: { cost: { requested: number; actual: number } } }[]).map(
      ({ extensions: { cost } }) => cost,
    )
    expect(costs.map(({ requested, actual }) => [requested, actual])).toEqual([
      [100, 100],
      [200, 3],
      [1, 1],
    ])
    // Each operation is rejected by itself. There are points for one of the pages: the one that is admitted first.
    const { headers, json } = await post([whole(490), viewer, whole(490)], {}, limited)
    const results = json() as { errors?: { extensions: { code: string } }[] }[]
    const [one, between, other] = results.map(({ errors = [] }) => errors.map(({ extensions: { code } }) => code))
    expect([between, [one, other].toSorted()]).toEqual([[], [[], ['RATE_LIMITED']]])
    expect(headers).toMatchObject({ 'x-cost-requested': '981', 'retry-after': expect.stringMatching(/^\d+$/) })
    // The body of an operation costs a point for each KiB, and so does its response.
    const long = await post([{ ...viewer, variables: { text: 'x'.repeat(20_000) } }, viewer], {}, app)
    expect(long.headers['x-cost']).toBe('20')
    await limited.close()
  })

  it('takes a place for each operation, and gives it back', async () => {
    const load = { ...patientLoad, maxInFlightPerKey: 4 }
    const small = await app.startAnother({ batching: true, load })
    const codes = async () =>
      (
        (
          await post(
            Array.from({ length: 6 }, () => viewer),
            {},
            small,
          )
        ).json() as { errors?: Sent[] }[]
      ).map(({ errors = [] }) => errors.length)
    expect(await codes()).toEqual([0, 0, 0, 0, 1, 1])
    const limits = small.log.filter(({ msg, limit }) => msg === 'request' && limit === 'in_flight_of_key')
    expect(limits).toHaveLength(2)
    expect(await codes()).toEqual([0, 0, 0, 0, 1, 1])
    expect((await small.app.inject('/metrics')).body).toContain('\nfusion_http_requests_in_flight 0\n')
    await small.close()
  })

  it('checks the scopes of each operation', async () => {
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: 'few', scopes: ['users:read'] })
    const jobs = { query: '{ jobs(first: 1) { nodes { id } } }' }
    const response = await post([jobs, operations['a query'], jobs], {}, app, key)
    const forbidden = { data: { jobs: null }, errors: [{ path: ['jobs'], extensions: { code: 'FORBIDDEN' } }] }
    expect(response.json()).toMatchObject([forbidden, { data: { users: { nodes: [{}, {}] } } }, forbidden])
  })

  it('commits a mutation although another one fails', async () => {
    const conflict = { query: 'mutation { deleteUser(input: { id: "usr_none" }) { userErrors { code } } }' }
    const twice = {
      query: `mutation { a: linkAccount(input: { userId: "usr_1", platform: "X", platformAccountId: "1", displayName: "1" }) { account { id } }
        b: createUser(input: { name: "", email: "", phone: "" }) { userErrors { field } } }`,
    }
    const statements = await app.statementsOf(() => post([createUser('Kept'), conflict, twice]))
    expect(statements.filter((sql) => sql.startsWith('BEGIN'))).toHaveLength(1)
    const { json } = await post([{ query: '{ users(filter: { nameContains: "Kept" }) { totalCount } }' }, twice])
    const [count] = json() as [{ data: { users: { totalCount: number } } }]
    expect(count.data.users.totalCount).toBe(1)
  })

  it('executes a mutation once for each idempotency key in its extensions, and refuses the header', async () => {
    const sent = [1, 2].map((number) => ({ ...createUser('Once'), extensions: { idempotencyKey: `batch-${number}` } }))
    const idsOf = async () =>
      ((await post(sent)).json() as { data: { createUser: { user: { id: string } } } }[]).map(
        ({ data }) => data.createUser.user.id,
      )
    const ids = await idsOf()
    expect(new Set(ids).size).toBe(2)
    expect(await idsOf()).toEqual(ids)
    const alone = await post(createUser('Once'), { 'idempotency-key': 'batch-1' })
    expect(alone.headers['idempotent-replayed']).toBe('true')
    const refused = await post([createUser('Never'), viewer], { 'idempotency-key': 'batch-3' })
    const message = expect.stringContaining('extensions.idempotencyKey')
    const error = { errors: [{ message, extensions: { code: 'MALFORMED_REQUEST' } }] }
    expect(refused.json()).toEqual([error, error])
    const left = await post([{ query: '{ users(filter: { nameContains: "Never" }) { totalCount } }' }])
    expect(left.json()).toMatchObject([{ data: { users: { totalCount: 0 } } }])
  })

  it('takes the header with the key if it has one operation', async () => {
    const send = (key: string) => post([createUser('Alone')], { 'idempotency-key': key })
    const [first, again, other] = [await send('alone-1'), await send('alone-1'), await send('alone-2')]
    expect(again.json()[0].data).toEqual(first.json()[0].data)
    expect(other.json()[0].data).not.toEqual(first.json()[0].data)
    const alone = await post(createUser('Alone'), { 'idempotency-key': 'alone-1' })
    expect(alone.headers['idempotent-replayed']).toBe('true')
    const extensions = { idempotencyKey: 'alone-3' }
    const refused = await post([{ ...createUser('Alone'), extensions }], { 'idempotency-key': 'alone-1' })
    expect(refused.json()).toMatchObject([{ errors: [{ extensions: { code: 'MALFORMED_REQUEST' } }] }])
  })

  it('stores the persisted queries of its operations', async () => {
    const query = 'query Stored { viewer { tenantApp { name } } }'
    const extensions = { persistedQuery: { version: 1, sha256Hash: hash('sha256', query) } }
    const data = { viewer: { tenantApp: { name: tenant.name } } }
    expect((await post([{ query, extensions }])).json()).toMatchObject([{ data }])
    expect((await post([{ extensions }, { extensions }])).json()).toMatchObject([{ data }, { data }])
  })

  it('refuses only the operation that cannot be part of it: a subscription, and @defer', async () => {
    const response = await post(
      [{ query: 'subscription { jobs { id } }' }, viewer, { query: '{ viewer { ... @defer { keyName } } }' }],
      { accept: 'multipart/mixed;deferSpec=20220824, application/json' },
    )
    expect(response.json()).toMatchObject([
      {
        errors: [
          { message: expect.stringContaining('cannot be part of a batch'), extensions: { code: 'NOT_ACCEPTABLE' } },
        ],
      },
      { data: { viewer: {} } },
      {
        errors: [{ message: expect.stringContaining('in another operation'), extensions: { code: 'BAD_USER_INPUT' } }],
      },
    ])
  })

  it.each([
    ['is empty', [], 'A batch has 1 to 10 operations, and this one has 0.'],
    [
      'has more than ten',
      Array.from({ length: 11 }, () => viewer),
      'A batch has 1 to 10 operations, and this one has 11.',
    ],
    ['has a text', [viewer, 'query'], 'Each operation of a batch must be a JSON object.'],
    ['has null', [null], 'Each operation of a batch must be a JSON object.'],
    ['has an array', [[viewer]], 'Each operation of a batch must be a JSON object.'],
  ])('is refused as a whole with 400 if it %s', async (_, body, message) => {
    const response = await post(body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({ errors: [{ message, extensions: { code: 'MALFORMED_REQUEST' } }] })
  })

  it('is refused with 406 by a client that accepts no JSON', async () => {
    const response = await post([viewer], { accept: 'text/event-stream' })
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.json()).toMatchObject([{ errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] }])
  })

  it('is not compressed if one of its operations shows a secret', async () => {
    const secret = { query: 'mutation { createApiKey(input: { name: "k" }) { key apiKey { name } } }' }
    const compressed = await post([operations['a long response']], { 'accept-encoding': 'gzip' })
    expect(compressed.headers['content-encoding']).toBe('gzip')
    const { headers } = await post([operations['a long response'], secret], { 'accept-encoding': 'gzip' })
    expect(headers['content-encoding']).toBeUndefined()
    expect(headers['cache-control']).toContain('no-transform')
  })

  it('gives everything back when its client leaves', async () => {
    const before = app.log.length
    // The searches of the batch wait, so the client leaves while all of them run.
    const gate = Promise.withResolvers<void>()
    const payers = ['one', 'other'].map((tenantAppId) => ({ tenantAppId, keyId: tenantAppId, userId: undefined }))
    for (const payer of [...payers, ...payers]) void app.services.queues.searches.run(payer, () => gate.promise)
    const { hostname, port } = new URL(await addressOf(app))
    const socket = connect(Number(port), hostname)
    const body = JSON.stringify(
      Array.from({ length: 10 }, () => ({
        query: '{ users(filter: { nameContains: "e" }) { totalCount nodes { id } } }',
      })),
    )
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    const inFlight = async () =>
      /\nfusion_http_requests_in_flight (\d+)\n/.exec((await app.app.inject('/metrics')).body)?.[1]
    await expect.poll(inFlight, { interval: 5 }).toBe('10')
    socket.destroy()
    await once(socket, 'close')
    await expect.poll(inFlight).toBe('0')
    gate.resolve()
    const lines = () => app.log.slice(before).filter(({ route }) => /^(POST|BATCH) /.test(String(route)))
    await expect.poll(() => lines().length).toBe(11)
    expect(lines().find(({ route }) => route === 'BATCH /graphql')).toMatchObject({ cutOff: true })
  })
})

it('is how the batch link of Apollo Client sends operations of the same moment', async () => {
  const bodies: unknown[] = []
  const link = new BatchHttpLink({
    uri: `${await addressOf(app)}/graphql`,
    headers: { 'x-api-key': tenant.key },
    fetch: (url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return fetch(url, init)
    },
  })
  const client = new ApolloClient({ link, cache: new InMemoryCache(), devtools: { enabled: false } })
  const queries = ['query A { user(id: "usr_1") { id name } }', 'query B { nope }', 'query C { viewer { keyName } }']
  const results = await Promise.all(queries.map((query) => client.query({ query: gql(query), errorPolicy: 'all' })))
  client.stop()
  expect(bodies).toMatchObject([[{ operationName: 'A' }, { operationName: 'B' }, { operationName: 'C' }]])
  expect(results.map(({ data }) => data)).toEqual([
    { user: { __typename: 'User', id: 'usr_1', name: 'User 1' } },
    undefined,
    { viewer: { __typename: 'Viewer', keyName: `key of ${tenant.name}` } },
  ])
  const error = results[1]?.error
  expect(CombinedGraphQLErrors.is(error) && error.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
})

it("Apollo Client's BatchHttpLink sends a mutation with its idempotency key in a header", async () => {
  const bodies: unknown[] = []
  const link = new BatchHttpLink({
    uri: `${await addressOf(app)}/graphql`,
    headers: { 'x-api-key': tenant.key },
    fetch: (url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return fetch(url, init)
    },
  })
  const client = new ApolloClient({ link, cache: new InMemoryCache(), devtools: { enabled: false } })
  const mutation = gql(createUser('By Apollo').query)
  const mutate = (key: string) => client.mutate({ mutation, context: { headers: { 'idempotency-key': key } } })
  const [one, other] = await Promise.all([mutate('apollo-1'), mutate('apollo-2')])
  const again = await mutate('apollo-1')
  client.stop()
  // Operations with other headers are in another batch.
  expect(bodies).toMatchObject([[{}], [{}], [{}]])
  expect(again.data).toEqual(one.data)
  expect(other.data).not.toEqual(one.data)
})
