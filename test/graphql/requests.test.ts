import { hash } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userScopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { present } from '../support/jobs.ts'
import { importText } from '../support/transfer.ts'
import { initSocket, type SocketClient } from '../support/web-socket.ts'

// What clients send that is not quite what they mean, and how the gateway says so.

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await factoriesFor(app, tenant).user({ id: 'usr_a', name: '𝒜'.repeat(200) })
  address = await addressOf(app)
})
afterAll(() => app.close())

async function post(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    payload: body,
    headers: { 'x-api-key': tenant.key, 'content-type': 'application/json', ...headers },
  })
  return { status: response.statusCode, ...response.json() }
}

describe('a value in the document that a scalar rejects', () => {
  it.each([
    ['{ users(filter: { createdAfter: "yesterday" }) { nodes { id } } }', 'Argument "filter.createdAfter"', 33],
    [
      '{ users(filter: { createdAfter: "0000-01-01T00:00:00Z" }) { nodes { id } } }',
      'Argument "filter.createdAfter"',
      33,
    ],
    ['{ users(first: "1") { nodes { id } } }', 'Argument "first"', 16],
    ['{ usage(from: "2026-13-01") { nodes { id } } }', 'Argument "from"', 15],
    [
      '{ searchProfiles(filter: { followersMin: 9007199254740993 }) { nodes { id } } }',
      'Argument "filter.followersMin"',
      42,
    ],
    ['query ($t: DateTime = "x") { users(filter: { createdAfter: $t }) { nodes { id } } }', 'Variable "$t"', 23],
    [
      'mutation { createJob(input: { jobType: "t", payload: { n: 9007199254740993 } }) { job { id } } }',
      'Argument "input.payload"',
      54,
    ],
    [
      'mutation { createJob(input: { jobType: "t", payload: { n: 1e999 } }) { job { id } } }',
      'Argument "input.payload"',
      54,
    ],
    [
      'mutation { createJob(input: { jobType: "t", payload: { n: YES } }) { job { id } } }',
      'Argument "input.payload"',
      54,
    ],
  ])('is located, and its argument is named: %s', async (query, subject, column) => {
    const { errors } = await post(JSON.stringify({ query }))
    expect(errors).toMatchObject([
      {
        message: expect.stringContaining(`${subject} got an invalid value; `),
        locations: [{ line: 1, column }],
        extensions: { code: 'BAD_USER_INPUT' },
      },
    ])
  })

  it('has the message of graphql-js if no scalar rejects it', async () => {
    const query = '{ user(id: null) { id } users(orderBy: { field: SIZE }) { nodes { id } } }'
    const { errors } = await post(JSON.stringify({ query }))
    expect(errors.map(({ message }: Error) => message)).toEqual([
      'Expected value of type "ID!", found null.',
      'Field "UserOrder.direction" of required type "OrderDirection!" was not provided.',
      'Value "SIZE" does not exist in "UserOrderField" enum.',
    ])
  })
})

const createJob =
  'mutation ($payload: JSONObject!) { createJob(input: { jobType: "t", payload: $payload }) { job { payload } } }'
const withPayload = (payload: string) => `{"query":${JSON.stringify(createJob)},"variables":{"payload":${payload}}}`

describe('a number that JavaScript cannot hold', () => {
  const numbers = ['9007199254740993', '-9007199254740993', '123456789012345678901234567890', '1e999', '-1E+400']

  it.each(numbers)('is refused in a body, and not rounded: %s', async (number) => {
    const { status, errors } = await post(withPayload(`{"a":["9007199254740993","\\"",{"n":${number}}]}`))
    expect([status, errors[0].extensions.code]).toEqual([422, 'BAD_USER_INPUT'])
    expect(errors[0].message).toBe(
      `The body has the number ${number}, which is too large: the largest is 9007199254740991. Send it as a text.`,
    )
  })

  it.each([
    ['as a text', '{"n":"9007199254740993"}'],
    ['as a fraction', '{"n":0.12345678901234568,"m":1e300}'],
    ['up to 2^53 − 1', '{"n":9007199254740991,"m":-9007199254740991}'],
    ['in a name, and behind an escape', '{"9007199254740993":"\\\\","b":"\\"9007199254740993"}'],
  ])('is accepted %s', async (_, payload) => {
    const { data } = await post(withPayload(payload))
    expect(data.createJob.job.payload).toEqual(JSON.parse(payload))
  })

  it('is refused in a GET, over a WebSocket, by REST and in an import', async () => {
    const variables = '{"first":9007199254740993}'
    const query = 'query ($first: Int) { users(first: $first) { nodes { id } } }'
    const get = await app.app.inject({
      url: '/graphql',
      query: { query, variables },
      headers: { 'x-api-key': tenant.key },
    })
    expect(get.json().errors[0].message).toContain('variables has the number 9007199254740993')

    const client = await initSocket(address, tenant.key)
    client.send(`{"type":"subscribe","id":"1","payload":${withPayload('{"n":1e999}')}}`)
    expect(await client.next()).toMatchObject({
      type: 'error',
      id: '1',
      payload: [{ extensions: { code: 'BAD_USER_INPUT' } }],
    })
    client.send(`{"type":"subscribe","id":"1","payload":{"query":"{ __typename }"}}`)
    expect(await client.next()).toMatchObject({ type: 'next', id: '1' })
    client.socket.close()

    const rest = await app.app.inject({
      method: 'POST',
      url: '/users',
      payload: '{"name":"A","email":"a@example.com","phone":12345678901234567890}',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    })
    expect(rest.json()).toMatchObject({
      code: 'BAD_USER_INPUT',
      detail: expect.stringContaining('12345678901234567890'),
    })

    const target = { id: tenant.tenantAppId, name: tenant.name } as never
    const line = '{"id":"job_n","status":"succeeded","payload":{"n":9007199254740993}}'
    const { imported, rejections } = await importText(app.database, target, line)
    expect(imported).toBe(0)
    expect(rejections).toMatchObject([{ line: 1, reason: expect.stringContaining('has the number 9007199254740993') }])
  })
})

it('an unknown name of an operation is named', async () => {
  const { status, errors } = await post(JSON.stringify({ query: 'query A { __typename }', operationName: 'toString' }))
  expect([status, errors[0].message]).toEqual([400, 'The document has no operation named "toString".'])
})

it('a body with a byte-order mark is read', async () => {
  const { data } = await post(Buffer.from('\ufeff{"query":"{ __typename }"}'))
  expect(data).toEqual({ __typename: 'Query' })
})

it.each([
  ['application/json', 200],
  ['application/graphql-response+json', 400],
])('a document that is not stored has a status that %s allows', async (accept, expected) => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: hash('sha256', '{ __typename }') } }
  const { status, errors } = await post(JSON.stringify({ extensions }), { accept })
  expect([status, errors[0].message]).toEqual([expected, 'PersistedQueryNotFound'])
})

it('a token that is bound to a user gets null for a node that does not exist, and FORBIDDEN for one of a type that it may not read', async () => {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId: 'usr_a', scopes: userScopes } },
  )
  const bound = { ...tenant, token: data.createAccessToken.accessToken }
  const unknown = await app.graphql(
    bound,
    '{ node(id: "no such id") { id } nodes(ids: ["x", "usr_a", "usr_x"]) { id } }',
  )
  expect(unknown).toMatchObject({ data: { node: null, nodes: [null, { id: 'usr_a' }, null] } })
  expect(unknown.errors).toBeUndefined()
  const job = await app.graphql(bound, '{ node(id: "job_x") { id } }')
  expect(job.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
})

it.each([
  ['users', { nameContains: '𝒜'.repeat(200) }, ['usr_a']],
  ['searchProfiles', { search: '𝒜'.repeat(500) }, []],
])('a filter of %s takes a text as long as a value', async (list, filter, expected) => {
  const type = list === 'users' ? 'UserFilter' : 'ProfileFilter'
  const query = `query ($filter: ${type}) { list: ${list}(filter: $filter) { nodes { id } } }`
  const { data, errors } = await app.graphql<{ list: { nodes: { id: string }[] } }>(tenant, query, { filter })
  expect(errors).toBeUndefined()
  expect(data.list.nodes.map(({ id }) => id)).toEqual(expected)
})

/** Writes what `send` sends with one call of the kernel. */
function inOnePacket({ socket }: SocketClient, send: () => void): void {
  const { _socket: stream } = socket as unknown as { _socket: Socket }
  stream.cork()
  send()
  stream.uncork()
}

describe('a complete and a subscribe with the same id in one packet', () => {
  const subscription = { query: 'subscription { jobs(first: 0) { id } }' }
  const second = { query: '{ second: users(first: 1) { nodes { id } } }' }

  it('are two operations, whatever the first one does', async () => {
    const client = await initSocket(address, tenant.key)
    const first = { query: '{ first: users { totalCount nodes { id } } again: users { totalCount } }' }
    for (let milliseconds = 0; milliseconds < 12; milliseconds += 0.5) {
      client.send({ type: 'subscribe', id: 'a', payload: first })
      await setTimeout(milliseconds)
      inOnePacket(client, () => {
        client.send({ type: 'complete', id: 'a' })
        client.send({ type: 'subscribe', id: 'a', payload: second })
      })
      const sent: string[] = []
      while (sent.at(-2) !== 'second' || sent.at(-1) !== 'complete') {
        const { type, payload } = present(await client.next())
        sent.push(type === 'next' ? (Object.keys((payload as { data: object }).data)[0] ?? '') : type)
      }
      // The first one can have ended before its client has ended it.
      expect(['second,complete', 'first,second,complete', 'first,complete,second,complete']).toContain(sent.join())
    }
    client.socket.close()
  })

  it('end a subscription alone, also before it has begun', async () => {
    const client = await initSocket(address, tenant.key)
    client.send({ type: 'subscribe', id: 'other', payload: subscription })
    expect(await client.next()).toMatchObject({ type: 'next', id: 'other' })
    inOnePacket(client, () => {
      for (const payload of [subscription, second, second]) {
        client.send({ type: 'subscribe', id: 'a', payload })
        client.send({ type: 'complete', id: 'a' })
      }
      client.send({ type: 'subscribe', id: 'a', payload: second })
    })
    expect(await client.next()).toMatchObject({ type: 'next', id: 'a', payload: { data: { second: {} } } })
    expect(await client.next()).toEqual({ type: 'complete', id: 'a' })
    await app.graphql(tenant, 'mutation { createJob(input: { jobType: "t" }) { job { id } } }')
    expect(await client.next()).toMatchObject({ type: 'next', id: 'other' })
    client.socket.close()
  })
})
