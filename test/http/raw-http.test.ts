import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, subscribe } from '../support/events.ts'

let app: TestApp
let tenant: TestTenant
let port: number

beforeAll(async () => {
  app = await startTestApp({ corsOrigins: ['https://app.example.com'], corsHeaders: ['x-tracking'] })
  tenant = await app.createTenant()
  port = Number(new URL(await app.app.listen({ port: 0 })).port)
})
afterAll(() => app.close())

/** Sends raw bytes, and reads until the gateway closes the connection. */
async function send(bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(bytes)
  return text(socket)
}

describe('an invalid HTTP request', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n', 400],
    ['two lengths', 'POST /users HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 400],
    ['headers over 16 KiB', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['a URL over 16 KiB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
  ])('gets a problem document: %s', async (_name, bytes, status) => {
    const answer = await send(bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const requestId = /x-request-id: (\S+)/.exec(head)?.[1]
    expect(head).toContain('content-type: application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status, request_id: requestId })
    expect(app.log.some((line) => line['requestId'] === requestId && line['status'] === status)).toBe(true)
  })
})

describe('a WebSocket', () => {
  const upgrade =
    'upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13'

  it.each(['/graphql', '/users', '/missing'])('is refused at %s', async (path) => {
    const socket = connect(port, '127.0.0.1')
    // The client waits for the gateway, which closes the connection.
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\n${upgrade}\r\n\r\n`)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 400 /)
    expect(head).toMatch(/content-type: application\/(problem\+)?json/)
    const { detail, errors } = JSON.parse(body)
    expect(detail ?? errors[0].message).toContain('server-sent events')
  })

  it('is refused only if the client asks for one', async () => {
    const answer = await send(
      'GET /health HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })
})

describe('a client that does not wait for responses', () => {
  const pipelined = (count: number) => 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(count)

  it('gets the responses to twenty requests in turn, again and again', async () => {
    const socket = connect(port, '127.0.0.1')
    const received = text(socket)
    const before = app.log.length
    for (const times of [1, 2, 3]) {
      socket.write(pipelined(20))
      await expect.poll(() => app.log.length - before).toBe(20 * times)
    }
    socket.end()
    expect((await received).match(/HTTP\/1.1 200 /g)).toHaveLength(60)
  })

  it('is disconnected if it sends more, and the rest is not looked at', async () => {
    const before = app.log.length
    // They fit into one part of 64 KiB, which Node reads as a whole.
    expect(await send(pipelined(1_500))).toBe('')
    const lines = app.log.slice(before).filter(({ msg }) => msg === 'request')
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(app.log.slice(before).map(({ msg }) => msg)).toContain(
      'a connection with more than 20 requests at a time is closed',
    )
  })
})

describe('a gateway with as many connections as it may have', () => {
  it('closes the one that waits longest, unused ones first, and closes new ones if all are in use', async () => {
    const full = await app.startAnother({ maxConnections: 4 })
    const address = await addressOf(full)
    const { hostname, port } = new URL(address)
    const open = async () => {
      const accepted = once(full.app.server, 'connection')
      const socket = connect(Number(port), hostname)
      await accepted
      return { socket, closed: once(socket, 'close') }
    }
    const used = await open()
    const answered = once(used.socket, 'data')
    used.socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    await answered
    const [first, second] = [await open(), await open()]
    const subscriptions: EventStream[] = []
    for (const { closed } of [first, second, used]) {
      subscriptions.push(await subscribe(address, tenant.key, 'subscription { jobs { id } }'))
      await closed
    }
    subscriptions.push(await subscribe(address, tenant.key, 'subscription { jobs { id } }'))
    await expect(fetch(`${address}/health`)).rejects.toThrow('fetch failed')
    for (const events of subscriptions) events.close()
    await full.close()
  })

  it('logs that there are too many only when it closes one', async () => {
    const full = await app.startAnother({ maxConnections: 1 })
    const events = await subscribe(await addressOf(full), tenant.key, 'subscription { jobs { id } }')
    const logged = () => full.log.map(({ msg }) => msg)
    expect(logged()).not.toContain('there are too many connections: some are closed')
    await expect(fetch(`${await addressOf(full)}/health`)).rejects.toThrow('fetch failed')
    await expect.poll(logged).toContain('there are too many connections: some are closed')
    events.close()
    await full.close()
  })
})

describe('a page of another origin', () => {
  const request = (origin: string, method: 'GET' | 'OPTIONS') =>
    app.app.inject({
      method,
      url: '/users/nobody',
      headers: {
        origin,
        'x-api-key': tenant.key,
        ...(method === 'OPTIONS' && { 'access-control-request-method': 'PUT' }),
      },
    })

  it('can send requests after a preflight request if the origin is configured', async () => {
    const preflight = await request('https://app.example.com', 'OPTIONS')
    expect(preflight.statusCode).toBe(204)
    expect(preflight.headers['access-control-allow-methods']).toMatch(/PUT.*DELETE/)
    const allowed = String(preflight.headers['access-control-allow-headers']).split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining([
        'authorization',
        'x-api-key',
        'idempotency-key',
        'traceparent',
        'if-none-match',
        'x-tracking',
      ]),
    )
    const answer = await request('https://app.example.com', 'GET')
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect(answer.headers['access-control-expose-headers']).toContain('link')
  })

  it('gets no CORS headers if the origin is not configured', async () => {
    for (const origin of ['https://evil.example', 'https://app.example.com.evil.example', 'null']) {
      expect((await request(origin, 'GET')).headers['access-control-allow-origin']).toBeUndefined()
    }
  })
})

describe('a gateway that stops', () => {
  it('does not wait for a connection that has never sent a request', async () => {
    const stopping = await app.startAnother({})
    const address = new URL(await stopping.app.listen({ port: 0 }))
    const opened = once(stopping.app.server, 'connection')
    const socket = connect(Number(address.port), address.hostname)
    await opened
    const closed = once(socket, 'close')
    await stopping.close()
    await closed
  })
})
