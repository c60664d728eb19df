import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { settings } from '../support/settings.ts'
import { initSocket, openSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
})
afterAll(() => app.close())

describe('a key', () => {
  it('has a number of sockets: the next one is closed with 1013, until one is closed', async () => {
    const limited = await app.startAnother({ maxSocketsPerKey: 2 })
    const at = await addressOf(limited)
    const [first, second] = [await initSocket(at, tenant.key), await initSocket(at, tenant.key)]
    const third = await openSocket(at, { headers: { 'x-api-key': tenant.key } })
    third.send({ type: 'connection_init' })
    expect(await third.closed).toEqual({
      code: 1013,
      reason: 'The key has 2 WebSockets, the most at a time.',
    })
    first.socket.close()
    await first.closed
    // The gateway may learn a moment later.
    await expect.poll(async () => (await limited.app.inject('/metrics')).body).toContain('fusion_websockets 1')
    const fourth = await initSocket(at, tenant.key)
    for (const { socket } of [second, fourth]) socket.terminate()
    await limited.close()
  })

  it('has a number of subscriptions, over sockets and event streams together', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const at = await addressOf(limited)
    const client = await initSocket(at, tenant.key)
    const query = 'subscription { jobs(first: 1) { id } }'
    client.send({ type: 'subscribe', id: '1', payload: { query } })
    await client.next()
    const { status } = await fetch(`${at}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
    })
    expect(status).toBe(429)
    client.send({ type: 'subscribe', id: '2', payload: { query } })
    expect(await client.next()).toMatchObject({
      id: '2',
      type: 'error',
      payload: [{ extensions: { code: 'RATE_LIMITED' } }],
    })
    client.socket.close()
    await limited.close()
  })

  it('has a number of operations at a time', async () => {
    const load = { maxInFlight: 500, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const limited = await app.startAnother({ load })
    const client = await initSocket(await addressOf(limited), tenant.key)
    for (const id of ['1', '2', '3']) {
      client.send({ type: 'subscribe', id, payload: { query: '{ users(first: 1) { nodes { id } } }' } })
    }
    const types = new Map<string | undefined, string>()
    while (types.size < 3) {
      const message = await client.next()
      if (message?.type !== 'complete') types.set(message?.id, message?.type ?? '')
    }
    expect(Object.fromEntries(types)).toEqual({ 1: 'next', 2: 'error', 3: 'error' })
    client.socket.close()
    await limited.close()
  })
})

it('a key that opens very many sockets waits for them, as ten messages each', async () => {
  const { key } = await app.createTenant()
  const startedAt = performance.now()
  const clients = await Promise.all(Array.from({ length: 195 }, () => initSocket(address, key)))
  // 1,000 at once, and 1,000 each second.
  expect(performance.now() - startedAt).toBeGreaterThan(900)
  for (const { socket } of clients) socket.terminate()
})

describe('a client that sends very many frames', () => {
  it('gets the replies to pings as slowly', async () => {
    const client = await initSocket(address, tenant.key)
    const startedAt = performance.now()
    let pongs = 0
    client.socket.on('pong', () => {
      pongs += 1
    })
    for (let count = 0; count < 1_500; count += 1) client.socket.ping()
    await expect.poll(() => pongs, { timeout: 10_000 }).toBe(1_500)
    expect(performance.now() - startedAt).toBeGreaterThan(400)
    client.socket.close()
  })

  it('is not read from until it has waited, and loses no message', async () => {
    const client = await initSocket(address, tenant.key)
    const startedAt = performance.now()
    for (let count = 0; count < 1_500; count += 1) client.send({ type: 'ping', payload: { count } })
    for (let count = 0; count < 1_500; count += 1) {
      expect(await client.next()).toEqual({ type: 'pong', payload: { count } })
    }
    const query = '{ viewer { keyName } }'
    client.send({ type: 'subscribe', id: '1', payload: { query } })
    expect(await client.next()).toMatchObject({ id: '1', type: 'next' })
    // 1,000 at once, and 1,000 each second.
    expect(performance.now() - startedAt).toBeGreaterThan(400)
    client.socket.close()
  })
})

describe('a client that does not read', () => {
  it('is not read from, and its key can have no more long responses than its MiB', async () => {
    const limited = await app.startAnother({ maxUnsentMibPerKey: 8 })
    const at = await addressOf(limited)
    const { id } = await factoriesFor(app, tenant).job({ payload: { text: 'x'.repeat(60_000) } })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const variables = { ids: Array.from({ length: 50 }, () => id) }
    const ended = () => limited.log.filter(({ route }) => route === 'WEBSOCKET /graphql').length

    /** Requests responses of 3 MiB until one does not fit into the buffers of the system. */
    async function fill() {
      const client = await initSocket(at, tenant.key)
      client.socket.pause()
      for (let sent = 1; ; sent += 1) {
        const before = ended()
        client.send({ type: 'subscribe', id: String(sent), payload: { query, variables } })
        const isSent = await expect
          .poll(ended, { timeout: 1_000 })
          .toBe(before + 1)
          .then(
            () => true,
            () => false,
          )
        if (!isSent) return client
      }
    }

    const clients = [await fill(), await fill()]
    const before = ended()
    for (const { send } of clients)
      send({ type: 'subscribe', id: 'more', payload: { query: '{ viewer { keyName } }' } })
    const errorOfAnother = async () => (await limited.graphql(tenant, query, variables)).errors?.[0]?.extensions['code']
    expect(await errorOfAnother()).toBe('RATE_LIMITED')
    expect(ended()).toBe(before)
    for (const { socket } of clients) socket.terminate()
    await expect.poll(errorOfAnother, { timeout: 10_000 }).toBeUndefined()
    const cutOff = limited.log.filter((line) => line['cutOff'] && line['route'] === 'WEBSOCKET /graphql')
    expect(cutOff).toHaveLength(2)
    await limited.close()
  })

  it('is closed when it has sent nothing for the timeout of idle connections, not even a pong', async () => {
    const impatient = await app.startAnother({
      timeouts: { ...settings.timeouts, idleMilliseconds: 500 },
      heartbeatMilliseconds: 100,
    })
    const at = await addressOf(impatient)
    const alive = await initSocket(at, tenant.key)
    const silent = await initSocket(at, tenant.key)
    silent.socket.pause()
    await expect.poll(() => impatient.log.some(({ closeCode }) => closeCode === 1006), { timeout: 5_000 }).toBe(true)
    expect(alive.socket.readyState).toBe(alive.socket.OPEN)
    alive.socket.close()
    silent.socket.terminate()
    await impatient.close()
  })
})

describe('many clients without a credential', () => {
  it('make room for those that have one, when the process has no more connections', async () => {
    const full = await app.startAnother({ maxConnections: 10 })
    const at = await addressOf(full)
    const kept = await initSocket(at, tenant.key)
    const strangers = await Promise.all(Array.from({ length: 8 }, () => openSocket(at)))
    const answered = await fetch(`${at}/health`)
    expect(answered.status).toBe(200)
    const another = await initSocket(at, tenant.key)
    expect(kept.socket.readyState).toBe(kept.socket.OPEN)
    for (const { socket } of [kept, another, ...strangers]) socket.terminate()
    await full.close()
  })
})

it('a socket is cut off with all other connections of the gateway', async () => {
  const stopping = await app.startAnother({})
  const socket = await initSocket(await addressOf(stopping), (await app.createTenant()).key)
  stopping.app.server.closeAllConnections()
  expect((await socket.closed).code).toBe(1006)
  await stopping.close()
})

it('a gateway that stops is not kept by a client that does not close its side', async () => {
  const stopping = await app.startAnother({})
  const { hostname, port } = new URL(await addressOf(stopping))
  const socket = connect(Number(port), hostname)
  socket.write(
    'GET /graphql HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n',
  )
  await once(socket, 'data')
  const outcome = await Promise.race([
    stopping.close().then(() => 'closed'),
    setTimeout(10_000, 'open', { ref: false }),
  ])
  expect(outcome).toBe('closed')
})
