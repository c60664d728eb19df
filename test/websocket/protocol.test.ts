import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
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

const subscribe = (id: string, query: string, more: object = {}) => ({
  type: 'subscribe',
  id,
  payload: { query, ...more },
})
const init = (payload?: object) => ({ type: 'connection_init', ...(payload && { payload }) })

describe('a credential', () => {
  it.each([
    ['in the payload', (key: string) => ({ payload: { 'x-api-key': key } })],
    ['in the payload, under the name in another case', (key: string) => ({ payload: { 'X-API-Key': key } })],
    ['in the headers of the upgrade', (key: string) => ({ headers: { 'x-api-key': key } })],
    [
      'in the payload, which overrides the headers',
      (key: string) => ({ payload: { 'x-api-key': key }, headers: { 'x-api-key': 'x' } }),
    ],
  ])('is accepted %s', async (_, sent) => {
    const { payload, headers = {} }: { payload?: object; headers?: Record<string, string> } = sent(tenant.key)
    const client = await openSocket(address, { headers })
    client.send(init(payload))
    expect(await client.next()).toEqual({ type: 'connection_ack' })
    client.send(subscribe('1', '{ viewer { keyName } }'))
    const viewer = { keyName: `key of ${tenant.name}` }
    expect(await client.next()).toMatchObject({ id: '1', type: 'next', payload: { data: { viewer } } })
    expect(await client.next()).toEqual({ id: '1', type: 'complete' })
    client.socket.close()
  })

  it.each([
    [undefined],
    [{ 'x-api-key': 'wrong' }],
    [{ 'x-api-key': 1 }],
    [{ authorization: 'Bearer wrong' }],
    [{ 'x-api-key': 'x', authorization: 'Bearer x' }],
  ])('that is missing or invalid closes the socket with 4401: %j', async (payload) => {
    const client = await openSocket(address)
    client.send(init(payload))
    const { code, reason } = await client.closed
    expect(code).toBe(4401)
    expect(reason).toMatch(/key|token/)
  })
})

describe('the gateway closes a socket', () => {
  it('with 4401 for an operation before connection_init', async () => {
    const client = await openSocket(address, { headers: { 'x-api-key': tenant.key } })
    client.send(subscribe('1', '{ viewer { keyName } }'))
    expect(await client.closed).toMatchObject({ code: 4401 })
  })

  it('with 4408 without connection_init, after three seconds', async () => {
    const openedAt = performance.now()
    const client = await openSocket(address)
    expect(await client.closed).toMatchObject({ code: 4408 })
    expect(performance.now() - openedAt).toBeGreaterThan(2_500)
  })

  it.each(['graphql-ws', 'mqtt'])('with 4406 for the subprotocol %s, and names the package', async (protocol) => {
    const { closed } = await openSocket(address, { protocol })
    const { code, reason } = await closed
    expect(code).toBe(4406)
    expect(reason).toContain('graphql-transport-ws, as clients of the package graphql-ws do')
  })

  it('with 4429 for a second connection_init', async () => {
    const client = await initSocket(address, tenant.key)
    client.send(init({ 'x-api-key': tenant.key }))
    expect(await client.closed).toMatchObject({ code: 4429 })
  })

  it('with 4409 for the id of an operation that has not ended', async () => {
    const client = await initSocket(address, tenant.key)
    for (let count = 0; count < 2; count += 1) client.send(subscribe('same', 'subscription { jobs { id } }'))
    expect(await client.closed).toMatchObject({ code: 4409, reason: 'Subscriber for same already exists' })
  })

  it.each([
    ['not JSON'],
    ['{}'],
    ['[]'],
    ['{"type":"start"}'],
    ['{"type":"next","id":"1","payload":{}}'],
    ['{"type":"subscribe","id":"1"}'],
  ])('with 4400 for the message %s', async (message) => {
    const client = await initSocket(address, tenant.key)
    client.send(message)
    expect(await client.closed).toMatchObject({ code: 4400 })
  })

  it('with 4400 for a binary message', async () => {
    const client = await initSocket(address, tenant.key)
    client.socket.send(Buffer.from('{"type":"ping"}'))
    expect(await client.closed).toMatchObject({ code: 4400 })
  })

  it('with 1009 for a message that is longer than a body may be', async () => {
    const client = await initSocket(address, tenant.key)
    client.send(' '.repeat(1024 * 1024 + 1))
    expect(await client.closed).toMatchObject({ code: 1009 })
  })

  it.each([20_000, 100_000, 1024 * 1024 + 1, 8 * 1024 * 1024])(
    'with 1009 for %i bytes without a credential, and the client need not read before it has sent them',
    async (length) => {
      const client = await openSocket(address)
      client.socket.pause()
      const sent = new Promise((resolve) => client.socket.send(' '.repeat(length), resolve))
      expect(await sent).toBeFalsy()
      client.socket.resume()
      const reason = 'Before connection_ack, messages have at most 16 KiB together.'
      expect(await client.closed).toEqual({ code: 1009, reason })
    },
  )

  it('with 1009 for a long connection_init', async () => {
    const client = await openSocket(address)
    client.send({ type: 'connection_init', payload: { 'x-api-key': tenant.key, more: 'x'.repeat(20_000) } })
    expect(await client.closed).toMatchObject({ code: 1009 })
  })
})

it('answers a ping of the protocol with its payload', async () => {
  const client = await initSocket(address, tenant.key)
  client.send({ type: 'ping', payload: { n: 1 } })
  expect(await client.next()).toEqual({ type: 'pong', payload: { n: 1 } })
  client.socket.close()
})

it('compresses no messages', async () => {
  const client = await initSocket(address, tenant.key)
  expect(client.socket.extensions).toBe('')
  client.socket.close()
})

describe('an upgrade', () => {
  const upgrade =
    'upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13'

  it('that follows a request without its response closes the connection', async () => {
    const { hostname, port } = new URL(address)
    const socket = connect(Number(port), hostname)
    const request = `GET /users HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\n\r\n`
    socket.write(`${request}GET /graphql HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n\r\n`)
    expect(await text(socket).catch(() => '')).not.toContain('101')
  })

  it('while the gateway stops gets 503', async () => {
    const stopping = await app.startAnother({})
    const { hostname, port } = new URL(await addressOf(stopping))
    const socket = connect(Number(port), hostname)
    socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'data')
    const response = text(socket)
    const closed = stopping.close()
    while (stopping.app.server.listening) await new Promise(setImmediate)
    socket.write(`GET /graphql HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n\r\n`)
    expect(await response).toMatch(/^HTTP\/1.1 503 .*The gateway is stopping/s)
    await closed
  })
})
