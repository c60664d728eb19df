import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { completion, type Transport, transports } from '../support/transports.ts'
import { initSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const query = 'subscription ($id: ID!) { job(id: $id) { status } }'

const cancel = (id: string) =>
  app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

/** Subscribes to a new job, and waits for its first state. */
async function follow(transport: Transport, gateway: TestApp, key = tenant.key) {
  const { id } = await factoriesFor(app, tenant).job()
  const subscription = await transports[transport](await addressOf(gateway), key, query, { id })
  await subscription.until('PENDING')
  return { id, ...subscription }
}

const names = Object.keys(transports) as Transport[]

describe('a stop of the gateway', () => {
  const ends: Record<Transport, string> = {
    'server-sent events': '200 text/event-stream, broken off',
    multipart: '200 multipart/mixed, broken off',
    WebSocket: '1001',
  }

  it('breaks off subscriptions by every transport, and completes none', async () => {
    const stopping = await app.startAnother({})
    const followed = await Promise.all(names.map((name) => follow(name, stopping)))
    const closed = stopping.close()
    for (const [at, { ending }] of followed.entries()) {
      const { text, end } = await ending
      expect(end).toBe(ends[names[at] as Transport])
      expect(text).not.toMatch(completion)
      expect(text.includes('SERVICE_UNAVAILABLE')).toBe(names[at] === 'multipart')
    }
    await closed
  })

  it('sends the transport error of Apollo as the last part', async () => {
    const stopping = await app.startAnother({})
    const { ending } = await follow('multipart', stopping)
    const closed = stopping.close()
    const { text } = await ending
    const parts = text.split('\r\n--graphql').filter((part) => part.includes('payload'))
    expect(JSON.parse(parts.at(-1)?.split('\r\n\r\n')[1] ?? '')).toEqual({
      payload: null,
      errors: [{ message: 'The gateway is stopping.', extensions: { code: 'SERVICE_UNAVAILABLE' } }],
    })
    await closed
  })
})

describe('an event log that has stopped', () => {
  it('starts no subscription, which the client may try again', async () => {
    const stopped = await app.startAnother({})
    const address = await addressOf(stopped)
    await stopped.services.events.close()
    const endings = names.map(async (name) => (await transports[name](address, tenant.key, query, { id: 'x' })).ending)
    const [events, multipart, socket] = await Promise.all(endings)
    expect(events?.end).toBe('503 application/json, whole')
    // Apollo Client takes application/graphql-response+json for a result.
    expect(multipart?.end).toBe('503 application/json, whole')
    expect(socket?.end).toBe('1001')
    expect(socket?.text).not.toMatch(/"type":"(next|error|complete)"/)
    await stopped.close()
  })

  it('lets the queries and mutations of a WebSocket finish', async () => {
    const stopped = await app.startAnother({})
    const client = await initSocket(await addressOf(stopped), tenant.key)
    await stopped.services.events.close()
    client.send({ type: 'subscribe', id: 'query', payload: { query: '{ viewer { keyName } }' } })
    client.send({ type: 'subscribe', id: 'events', payload: { query: 'subscription { events { id } }' } })
    expect(await client.next()).toMatchObject({ type: 'next', id: 'query' })
    expect(await client.next()).toMatchObject({ type: 'complete', id: 'query' })
    expect(await client.next()).toBeUndefined()
    expect((await client.closed).code).toBe(1001)
    await stopped.close()
  })
})

describe('the end of a subscription', () => {
  it.each(names)('is sent when its job is finished: %s', async (name) => {
    const { id, until } = await follow(name, app)
    await cancel(id)
    await until('CANCELLED')
    await until({ 'server-sent events': 'event: complete', multipart: '--graphql--', WebSocket: '"complete"' }[name])
  })

  it.each(names)('is sent when its key is revoked: %s', async (name) => {
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'revoked' })
    const { ending } = await follow(name, app, key)
    await revokeKey(app.database, row.id)
    const { text, end } = await ending
    if (name === 'WebSocket') return expect(end).toBe('4403')
    expect(end).toContain('whole')
    expect(text).toContain('UNAUTHENTICATED')
    expect(text).toMatch(completion)
  })
})
