import { createRateLimit } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { present } from '../support/jobs.ts'
import { initSocket, type Message, type SocketClient } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
})
afterAll(() => app.close())

const open = (key = tenant.key, at = address) => initSocket(at, key)
let ids = 0

/** Sends an operation. Returns its id. */
function send({ send }: SocketClient, query: string, more: object = {}): string {
  ids += 1
  send({ type: 'subscribe', id: String(ids), payload: { query, ...more } })
  return String(ids)
}

/** Sends an operation that is not a subscription. Returns its messages, without the last one, which completes it. */
async function execute(client: SocketClient, query: string, more: object = {}): Promise<Message[]> {
  const id = send(client, query, more)
  const messages: Message[] = []
  for (;;) {
    const message = await client.next()
    if (message === undefined) throw new Error(`The socket is closed: ${JSON.stringify(await client.closed)}`)
    expect(message.id).toBe(id)
    if (message.type === 'complete') return messages
    messages.push(message)
    if (message.type === 'error') return messages
  }
}

const errorOf = (code: string) => [{ type: 'error', payload: [{ extensions: { code } }] }]
const cancelJob = 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id status } } }'
const followJob = 'subscription Follow($id: ID!) { job(id: $id) { id status } }'

describe('an operation over a socket', () => {
  it('returns what POST returns, with the cost', async () => {
    const client = await open()
    const query = '{ users(first: 2) { nodes { name } } viewer { keyName } }'
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'x-api-key': tenant.key },
      payload: { query },
    })
    const [message] = await execute(client, query)
    const { extensions, ...rest } = present(message).payload as { extensions: { cost: object } }
    const { extensions: expected, ...others } = response.json()
    expect(rest).toEqual(others)
    expect(extensions.cost).toMatchObject({ requested: expected.cost.requested, actual: expected.cost.actual })
    client.socket.close()
  })

  it('is rejected with the error of its document, its variables or its scope', async () => {
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'reads users',
      scopes: ['users:read'],
    })
    const client = await open(key)
    expect(await execute(client, '{')).toMatchObject(errorOf('BAD_USER_INPUT'))
    expect(await execute(client, '{ unknown }')).toMatchObject(errorOf('BAD_USER_INPUT'))
    expect(await execute(client, '{ viewer { keyName } }', { extensions: { idempotencyKey: 'ü' } })).toMatchObject(
      errorOf('MALFORMED_REQUEST'),
    )
    const [invalid] = await execute(client, 'query ($first: Int!) { users(first: $first) { nodes { id } } }')
    expect(invalid).toMatchObject({ type: 'next', payload: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] } })
    const [forbidden] = await execute(client, '{ jobs(first: 1) { nodes { id } } }')
    expect(forbidden).toMatchObject({ type: 'next', payload: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } })
    client.socket.close()
  })

  it('is rejected if its JSON is too deep, or its id too long', async () => {
    const client = await open()
    const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
    expect(await execute(client, '{ viewer { keyName } }', { variables: deep })).toMatchObject(
      errorOf('MALFORMED_REQUEST'),
    )
    client.send({ type: 'subscribe', id: 'x'.repeat(129), payload: { query: '{ viewer { keyName } }' } })
    expect(await client.next()).toMatchObject({
      type: 'error',
      payload: [{ extensions: { code: 'MALFORMED_REQUEST' } }],
    })
    client.socket.close()
  })

  it('shows no names of a schema that may not be explored', async () => {
    const hidden = await app.startAnother({ introspection: false })
    const client = await open(tenant.key, await addressOf(hidden))
    const [error] = await execute(client, '{ userz { id } }')
    expect(JSON.stringify(error)).toContain('userz')
    expect(JSON.stringify(error)).not.toContain('Query')
    client.socket.close()
    await hidden.close()
  })

  it('pays points, and is rejected when they are spent', async () => {
    const limited = await app.startAnother({
      rateLimit: createRateLimit(20, {
        log: { error: () => undefined, warn: () => undefined },
        rejectionMilliseconds: 0,
      }),
    })
    const client = await open(tenant.key, await addressOf(limited))
    const query = '{ users(first: 12) { pageInfo { hasNextPage } } }'
    expect(await execute(client, query)).toMatchObject([{ type: 'next' }])
    expect(await execute(client, query)).toMatchObject(errorOf('RATE_LIMITED'))
    client.socket.close()
    await limited.close()
  })

  it('is measured and has a line in the log, with its own id', async () => {
    const client = await open()
    await execute(client, 'query ReadsUsers { users(first: 1) { nodes { id } } }')
    await execute(client, 'query Breaks {')
    client.socket.close()
    await client.closed
    const lines = () => app.log.filter(({ route }) => route === 'WEBSOCKET /graphql').slice(-2)
    const [first, second] = lines()
    const line = { msg: 'request', tenant: tenant.tenantAppId, key: `key of ${tenant.name}` }
    expect(first).toMatchObject({ ...line, operation: 'ReadsUsers', status: 200, sql: 2 })
    expect(second).toMatchObject({ ...line, status: 422, sql: 1 })
    expect(second).not.toHaveProperty('operation')
    expect(first?.['requestId']).toMatch(/^[-0-9a-f]{36}\.1$/)
    expect(second?.['requestId']).toBe(String(first?.['requestId']).replace(/1$/, '2'))
    await expect.poll(() => app.log.some(({ msg }) => msg === 'a WebSocket was closed')).toBe(true)
    const { body } = await app.app.inject('/metrics')
    expect(body).toMatch(/_count\{route="WEBSOCKET \/graphql",operation="ReadsUsers",status="200"\} 1/)
  })

  it('is executed once for each idempotency key, also if it is sent again by POST', async () => {
    const client = await open()
    const query =
      'mutation { createUser(input: { name: "Once", email: "once@example.com", phone: "+1 555 0100" }) { user { id } } }'
    const sent = { extensions: { idempotencyKey: 'socket-1' } }
    const [first] = await execute(client, query, sent)
    const [again] = await execute(client, query, sent)
    expect(first).toMatchObject({ payload: { data: { createUser: { user: { id: expect.any(String) } } } } })
    const dataOf = (message?: Message) => (message?.payload as { data: object } | undefined)?.data
    expect(dataOf(again)).toEqual(dataOf(first))
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      payload: { query },
      headers: { 'x-api-key': tenant.key, 'idempotency-key': 'socket-1' },
    })
    expect(response.headers['idempotent-replayed']).toBe('true')
    expect(response.json().data).toEqual(dataOf(first))
    client.socket.close()
  })

  it('may name its document by a hash that another request has stored', async () => {
    const client = await open()
    const query = '{ viewer { keyName scopes } }'
    const extensions = { persistedQuery: { version: 1, sha256Hash: await sha256(query) } }
    expect(await execute(client, '', { extensions })).toMatchObject(errorOf('PERSISTED_QUERY_NOT_FOUND'))
    expect(await execute(client, query, { extensions })).toMatchObject([{ type: 'next' }])
    expect(await execute(client, '', { extensions })).toMatchObject([{ type: 'next' }])
    client.socket.close()
  })

  it('is executed only if its document is trusted, in this mode', async () => {
    const text = '{ viewer { keyName } }'
    const trustedDocuments = { others: 'reject' as const, byId: new Map([['one', text]]), texts: new Set([text]) }
    const strict = await app.startAnother({ trustedDocuments })
    const client = await open(tenant.key, await addressOf(strict))
    expect(await execute(client, '{ viewer { scopes } }')).toMatchObject(errorOf('DOCUMENT_NOT_TRUSTED'))
    expect(await execute(client, '', { documentId: 'one' })).toMatchObject([{ type: 'next' }])
    client.socket.close()
    await strict.close()
  })

  it('has the scopes that its key has now', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'narrowed' })
    const client = await open(key)
    const query = '{ users(first: 1) { nodes { id } } }'
    expect(await execute(client, query)).toMatchObject([{ payload: { data: { users: {} } } }])
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { scopes: ['jobs:read'] } })
    expect(await execute(client, query)).toMatchObject([
      { payload: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } },
    ])
    client.socket.close()
  })
})

describe('a subscription over a socket', () => {
  it('sends the current state and every change, next to others and to mutations', async () => {
    const client = await open()
    const jobs = [await factoriesFor(app, tenant).job(), await factoriesFor(app, tenant).job()]
    const follows = jobs.map(({ id }) => send(client, followJob, { variables: { id } }))
    const received = new Map<string | undefined, string[]>()
    const read = async () => {
      const message = await client.next()
      const list = received.get(message?.id) ?? []
      const data = (message?.payload as { data?: { job?: { status: string } } } | undefined)?.data
      received.set(message?.id, [...list, data?.job?.status ?? message?.type ?? ''])
    }
    await read()
    await read()
    const mutation = send(client, cancelJob, { variables: { id: jobs[1]?.id } })
    for (let count = 0; count < 4; count += 1) await read()
    expect(received.get(follows[0])).toEqual(['PENDING'])
    expect(received.get(follows[1])).toEqual(['PENDING', 'CANCELLED', 'complete'])
    expect(received.get(mutation)).toEqual(['next', 'complete'])
    client.socket.close()
  })

  it('that the client completes ends at once, releases its permit, and causes no more statements', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const client = await open(tenant.key, await addressOf(limited))
    const { id } = await factoriesFor(app, tenant).job()
    for (let round = 0; round < 3; round += 1) {
      const subscription = send(client, followJob, { variables: { id } })
      expect(await client.next()).toMatchObject({ id: subscription, type: 'next' })
      client.send({ type: 'complete', id: subscription })
    }
    await expect.poll(() => limited.log.filter(({ operation }) => operation === 'Follow')).toHaveLength(3)
    const statements = await app.statementsOf(() => app.graphql(tenant, cancelJob, { id }))
    expect(statements.filter((sql) => /^SELECT .* FROM job/.test(sql))).toEqual([])
    client.socket.close()
    await limited.close()
  })

  it('ends when the client goes, and releases its permit', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const { id } = await factoriesFor(app, tenant).job()
    for (let round = 0; round < 3; round += 1) {
      const client = await open(tenant.key, await addressOf(limited))
      const subscription = send(client, followJob, { variables: { id } })
      expect(await client.next()).toMatchObject({ id: subscription, type: 'next' })
      client.socket.terminate()
      await expect.poll(() => limited.log.filter(({ cutOff }) => cutOff)).toHaveLength(round + 1)
    }
    await limited.close()
  })
})

describe('a key that is revoked', () => {
  it('closes its sockets with 4403 within five seconds, also without subscriptions', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'gone' })
    const [idle, follower] = [await open(key), await open(key)]
    const { id } = await factoriesFor(app, tenant).job()
    send(follower, followJob, { variables: { id } })
    await follower.next()
    const revokedAt = performance.now()
    await revokeKey(app.database, row.id)
    for (const { closed } of [idle, follower]) {
      const { code, reason } = await closed
      expect(code).toBe(4403)
      expect(reason).toContain('Send a valid API key')
    }
    expect(performance.now() - revokedAt).toBeLessThan(5_000)
  })
})

describe('a gateway that stops', () => {
  it('completes no subscription, finishes what is under way, and then closes sockets with 1001', async () => {
    const stopping = await app.startAnother({
      rateLimit: createRateLimit(20, { log: { error: () => undefined, warn: () => undefined } }),
    })
    const at = await addressOf(stopping)
    const [idle, client] = [await open(tenant.key, at), await open(tenant.key, at)]
    const { id } = await factoriesFor(app, tenant).job()
    send(client, followJob, { variables: { id } })
    await client.next()
    const query = '{ users(first: 12) { pageInfo { hasNextPage } } }'
    await execute(client, query)
    // The points are spent, so it is rejected after a second.
    const rejected = send(client, query)
    const inFlight = async () => (await stopping.app.inject('/metrics')).body
    await expect.poll(inFlight).toContain('fusion_http_requests_in_flight 1')
    const closed = stopping.close()
    expect(await client.next()).toMatchObject({ type: 'error', id: rejected })
    expect(await client.next()).toBeUndefined()
    for (const { closed } of [idle, client]) expect(await closed).toMatchObject({ code: 1001 })
    await closed
  })
})

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(text))).toString('hex')
}
