import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { createRateLimit, Held } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { patientLoad } from '../support/patient-load.ts'
import { settings } from '../support/settings.ts'
import { initSocket, openSocket } from '../support/web-socket.ts'

const viewer = '{ viewer { keyName } }'
const job = 'subscription { jobs(first: 1) { id } }'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await app.database.prisma.job.createMany({
    data: Array.from({ length: 10 }, (_, index) => ({
      tenantAppId: tenant.tenantAppId,
      id: `job_${index}`,
      jobType: 'long',
      maxAttempts: 3,
      runAt: new Date(0),
      payload: { text: 'x'.repeat(200_000) },
    })),
  })
  // Together they are longer than an operation may read.
  await app.database.prisma.$executeRaw`
    UPDATE job SET payload = json_build_object('text', repeat('x', 2000000)) WHERE id <> 'job_0'`
})
afterAll(() => app.close())

/** The counters of a gateway, by their printed name and labels. */
async function countersOf(gateway: TestApp): Promise<Map<string, number>> {
  const { body } = await gateway.app.inject('/metrics')
  const lines = body.split('\n').filter((line) => /^fusion_(refusals|http_requests_shed|rate_limited)_total/.test(line))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/**
 * Runs work. Returns the counters that have grown, once the log has so many lines more with a limit; and the limits of
 * these lines.
 */
async function refusalsOf(gateway: TestApp, work: () => Promise<unknown>, lines = 1) {
  const before = await countersOf(gateway)
  const limited = () => gateway.log.filter(({ limit }) => limit !== undefined)
  const { length } = limited()
  await work()
  await expect.poll(() => limited().length - length).toBe(lines)
  const after = await countersOf(gateway)
  const grown = [...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const)
  return {
    logged: limited()
      .slice(length)
      .map(({ limit }) => limit),
    counted: Object.fromEntries(grown.filter(([, growth]) => growth !== 0)),
  }
}

const counted = (limit: string) => ({ [`fusion_refusals_total{limit="${limit}"}`]: 1 })
const shed = (reason: string) => ({ [`fusion_http_requests_shed_total{reason="${reason}"}`]: 1 })

/** Sends raw bytes, and reads until the gateway closes the connection. */
async function sendRaw(gateway: TestApp, bytes: string): Promise<string> {
  const { port, hostname } = new URL(await addressOf(gateway))
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  return text(socket)
}

const jobIds = (count: number) => Array.from({ length: count }, () => 'job_0')
const nodes = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'

describe('a request that a limit refuses has the limit in its line of the log, and the metrics count it once', () => {
  it.each<[limit: string, work: () => Promise<unknown>]>([
    [
      'operation_cost',
      () =>
        app.graphql(tenant, `{ ${Array.from({ length: 45 }, (_, n) => `a${n}: users(first: 500) { nodes { id } }`)} }`),
    ],
    ['document_size', () => app.graphql(tenant, `{ ${'viewer { keyName } '.repeat(1_000)} }`)],
    [
      'document_size',
      () => app.graphql(tenant, `{ ${Array.from({ length: 61 }, (_, n) => `a${n}: viewer { keyName }`)} }`),
    ],
    ['body_length', () => app.rest(tenant, 'POST', '/users', { name: 'x'.repeat(1_100_000) })],
    ['body_length', () => app.graphql(tenant, viewer, { text: 'x'.repeat(1_100_000) })],
    ['body_values', () => app.graphql(tenant, viewer, { list: Array.from({ length: 20_001 }, () => 1) })],
    ['response_length', () => app.graphql(tenant, nodes, { ids: jobIds(45) })],
    ['read_length', () => app.graphql(tenant, '{ jobs(first: 10) { nodes { payload } } }')],
    ['header_length', () => sendRaw(app, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`)],
    [
      'pipelined_requests',
      () => sendRaw(app, 'GET /users HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(30)).catch(() => undefined),
    ],
  ])('%s', async (limit, work) => {
    expect(await refusalsOf(app, work)).toEqual({ logged: [limit], counted: counted(limit) })
  })

  it('points, of REST, GraphQL and operations of a WebSocket', async () => {
    const rateLimit = createRateLimit(10, { log: app.app.log, metrics: app.services.metrics, rejectionMilliseconds: 0 })
    const gateway = await app.startAnother({ rateLimit })
    await gateway.graphql(tenant, '{ users(first: 10) { pageInfo { hasNextPage } } }')
    const points = { logged: ['points'], counted: { ...counted('points'), fusion_rate_limited_total: 1 } }
    expect(await refusalsOf(gateway, () => gateway.rest(tenant, 'GET', '/users?limit=1'))).toEqual(points)
    expect(await refusalsOf(gateway, () => gateway.graphql(tenant, viewer))).toEqual(points)
    const client = await initSocket(await addressOf(gateway), tenant.key)
    const query = async () => {
      client.send({ type: 'subscribe', id: '1', payload: { query: viewer } })
      expect(await client.next()).toMatchObject({ type: 'error' })
    }
    expect(await refusalsOf(gateway, query)).toEqual(points)
    client.socket.terminate()
    await gateway.close()
  })

  it('in_flight_of_key and in_flight', async () => {
    const load = { maxInFlight: 2, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const gateway = await app.startAnother({ load })
    const { viewer: holder } = await viewerOf(gateway)
    const held = new Held()
    await gateway.app.places.take(holder, held)
    expect(await refusalsOf(gateway, () => gateway.graphql(tenant, viewer))).toEqual({
      logged: ['in_flight_of_key'],
      counted: { ...counted('in_flight_of_key'), ...shed('in_flight_of_key') },
    })
    const heldByOther = new Held()
    await gateway.app.places.take({ ...holder, tenantAppId: 'other', keyId: 'other' }, heldByOther)
    const refused = await refusalsOf(gateway, async () => {
      const { errors } = await gateway.graphql(tenant, viewer)
      expect(errors?.[0]?.message).toBe(
        'The gateway has too many requests right now (MAX_IN_FLIGHT). Try again shortly.',
      )
    })
    expect(refused).toEqual({ logged: ['in_flight'], counted: { ...counted('in_flight'), ...shed('in_flight') } })
    held.end()
    heldByOther.end()
    await gateway.close()
  })

  it('event_loop, when the event loop was late for two seconds', async () => {
    const load = { ...patientLoad, maxEventLoopDelayMilliseconds: -1 }
    const gateway = await app.startAnother({ load })
    // Any delay is too long, but those of the start do not count, and two seconds must pass after the first request.
    await setTimeout(2_500)
    expect((await gateway.app.inject('/users')).statusCode).not.toBe(503)
    await expect.poll(async () => (await gateway.app.inject('/users')).statusCode, { timeout: 20_000 }).toBe(503)
    const refused = await refusalsOf(gateway, async () => {
      const { errors } = await gateway.graphql(tenant, viewer)
      expect(errors?.[0]?.message).toBe('The gateway has too many requests right now. Try again shortly.')
    })
    expect(refused).toEqual({ logged: ['event_loop'], counted: { ...counted('event_loop'), ...shed('event_loop') } })
    await gateway.close()
  })

  it('request_time, of headers and of a body that do not arrive', async () => {
    const timeouts = { ...settings.timeouts, headersMilliseconds: 100, requestMilliseconds: 200 }
    const gateway = await app.startAnother({ timeouts })
    const requestTime = { logged: ['request_time'], counted: counted('request_time') }
    expect(await refusalsOf(gateway, () => sendRaw(gateway, 'GET /users HTTP/1.1\r\n'))).toEqual(requestTime)
    const head = `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\n`
    const unfinished = `${head}content-length: 100\r\n\r\n{`
    expect(await refusalsOf(gateway, () => sendRaw(gateway, unfinished))).toEqual(requestTime)
    await gateway.close()
  })

  it('connections, when a new one takes the room of one that is idle', async () => {
    const gateway = await app.startAnother({ maxConnections: 2 })
    const { port, hostname } = new URL(await addressOf(gateway))
    const first = connect(Number(port), hostname)
    await once(first, 'connect')
    const another = async () => {
      const second = connect(Number(port), hostname)
      await once(first, 'close')
      second.destroy()
    }
    expect(await refusalsOf(gateway, another)).toEqual({ logged: ['connections'], counted: counted('connections') })
    await gateway.close()
  })

  it('sockets_of_key, in the line of the connection', async () => {
    const gateway = await app.startAnother({ maxSocketsPerKey: 1 })
    const at = await addressOf(gateway)
    const first = await initSocket(at, tenant.key)
    const second = async () => {
      const client = await openSocket(at, { headers: { 'x-api-key': tenant.key } })
      client.send({ type: 'connection_init' })
      expect(await client.closed).toMatchObject({ code: 1013 })
    }
    expect(await refusalsOf(gateway, second)).toEqual({
      logged: ['sockets_of_key'],
      counted: { ...counted('sockets_of_key'), ...shed('sockets_of_key') },
    })
    first.socket.terminate()
    await gateway.close()
  })

  it('subscriptions_of_key, of an event stream', async () => {
    const gateway = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const at = await addressOf(gateway)
    const client = await initSocket(at, tenant.key)
    client.send({ type: 'subscribe', id: '1', payload: { query: job } })
    await client.next()
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json', accept: 'text/event-stream' }
    const another = () => fetch(`${at}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: job }) })
    expect(await refusalsOf(gateway, another)).toEqual({
      logged: ['subscriptions_of_key'],
      counted: counted('subscriptions_of_key'),
    })
    client.socket.terminate()
    await gateway.close()
  })

  it('points of an event, when a subscription has sent its error', async () => {
    const rateLimit = createRateLimit(195, {
      log: app.app.log,
      metrics: app.services.metrics,
      rejectionMilliseconds: 0,
    })
    const gateway = await app.startAnother({ rateLimit })
    const at = await addressOf(gateway)
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json', accept: 'text/event-stream' }
    const body = JSON.stringify({ query: 'subscription { events { user { accounts { profile { id } } } } }' })
    await gateway.graphql(tenant, '{ users(first: 100) { pageInfo { hasNextPage } } }')
    const subscription = async () => {
      const response = await fetch(`${at}/graphql`, { method: 'POST', headers, body })
      const text = response.text()
      let isOver = false
      void text.then(() => {
        isOver = true
      })
      while (!isOver) {
        await factoriesFor(gateway, tenant).user()
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await text).toContain('RATE_LIMITED')
    }
    expect(await refusalsOf(gateway, subscription)).toMatchObject({ logged: ['points'], counted: counted('points') })
    await gateway.close()
  })

  it('body_length of a WebSocket that sends too long a message', async () => {
    const client = await initSocket(await addressOf(app), tenant.key)
    const send = async () => {
      client.send('x'.repeat(1_100_000))
      expect(await client.closed).toMatchObject({ code: 1009 })
    }
    expect(await refusalsOf(app, send)).toEqual({ logged: ['body_length'], counted: counted('body_length') })
  })
})

it('a request that no limit refuses has no limit in its line', async () => {
  const lines = app.log.length
  await app.graphql(tenant, '{ unknown }')
  await app.rest(tenant, 'GET', '/users/nobody')
  await expect.poll(() => app.log.length - lines).toBe(2)
  expect(app.log.slice(lines).filter((line) => 'limit' in line)).toEqual([])
})

/** The viewer of the tenant's key, as requests have it. */
async function viewerOf(gateway: TestApp) {
  const { tenantAppId, keyId } = tenant
  const row = await gateway.database.prisma.apiKey.findFirstOrThrow({ where: { tenantAppId, id: keyId } })
  return { viewer: { tenantAppId, keyId, keyName: row.name, scopes: [], tenantName: '' } }
}
