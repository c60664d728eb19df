import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, subscribe } from '../support/events.ts'

let app: TestApp
let tenant: TestTenant
let port: number

beforeAll(async () => {
  app = await startTestApp({
    corsOrigins: ['https://app.example.com'],
    corsHeaders: ['x-tracking'],
    demoKey: 'fus_demo',
  })
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

/**
 * Sends a request with a key and `connection: close`, and waits: the gateway stops working for a client that ends the
 * connection.
 */
async function sendAndWait(request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  return text(socket)
}

describe('an invalid HTTP request', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n', 400],
    ['two lengths', 'POST /users HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 400],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n', 400],
    ['an unknown expectation', 'GET /health HTTP/1.1\r\nhost: x\r\nexpect: gold\r\n\r\n', 417],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n', 405],
    ['an unknown method', 'FOO /users HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['two hosts', 'GET /health HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n', 400],
    ['another version', 'GET /health HTTP/2.0\r\nhost: x\r\n\r\n', 400],
    ['two encodings', 'POST /users HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n', 400],
    [
      'two encodings in two headers',
      'POST /users HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a query string of a route with a half character', 'GET /users?cursor=%E0%A4%A HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a query string of a page with a % alone', 'GET /docs?a=100% HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a name in a query string with a % alone', 'GET /health?%zz=1 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['headers over 16 KiB', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['a URL over 16 KiB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
  ])('gets a problem document: %s', async (_name, bytes, status) => {
    const response = await send(bytes)
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const [head = '', body = ''] = response.split('\r\n\r\n')
    const requestId = /x-request-id: (\S+)/.exec(head)?.[1]
    expect(head).toContain('content-type: application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status, request_id: requestId })
    expect(app.log.some((line) => line['requestId'] === requestId && line['status'] === status)).toBe(true)
  })
})

it('a GraphQL query with a % that encodes no character is refused, and one that does is executed', async () => {
  const get = (query: string) =>
    app.app.inject({
      url: `/graphql?query=${query}`,
      headers: { 'x-api-key': tenant.key, accept: 'application/json' },
    })
  const refused = await get('{__typename}%20%')
  expect(refused.statusCode).toBe(400)
  expect(refused.json()).toMatchObject({
    errors: [{ message: 'The query string is not valid percent-encoding.', extensions: { code: 'MALFORMED_REQUEST' } }],
  })
  expect((await get('%7B__typename%7D')).json()).toMatchObject({ data: { __typename: 'Query' } })
})

it('what is not a request gets its response after a second, so that clients that repeat it do not keep the gateway busy', async () => {
  const startedAt = performance.now()
  expect(await sendAndWait('nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
  expect(performance.now() - startedAt).toBeGreaterThan(950)
})

it('what is not a request, after one whose response is a stream, breaks the stream off and is no part of it', async () => {
  const body = JSON.stringify({ query: 'subscription { jobs { id } }' })
  const head = `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\naccept: text/event-stream\r\n`
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
    if (text.includes('event: next')) socket.write('nonsense\r\n\r\n')
  })
  const closed = once(socket, 'close')
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await closed
  expect(received).toContain('event: next')
  expect(received.split('HTTP/1.1')).toHaveLength(2)
})

it('a CONNECT is refused and its connection closed, whether its client closes it or breaks it off', async () => {
  const line = 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'
  const waiting = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  waiting.write(line)
  expect(await text(waiting)).toMatch(/^HTTP\/1.1 405 .*allow: GET, HEAD, POST, PUT, DELETE\r\n/s)
  const connections = () => new Promise((resolve) => app.app.server.getConnections((_, count) => resolve(count)))
  await expect.poll(connections).toBe(0)
  waiting.destroy()
  const leaving = connect(port, '127.0.0.1', () => leaving.write(line, () => leaving.resetAndDestroy()))
  await once(leaving, 'close')
  expect(await send('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /)
})

it('a request in chunks is read, also if their name is in capital letters', async () => {
  const chunked = 'POST /users HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: CHUNKED\r\n'
  const body = 'content-type: application/json\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
  expect(await sendAndWait(`${chunked}x-api-key: ${tenant.key}\r\n${body}`)).toMatch(/^HTTP\/1.1 422 /)
})

it.each(['POST /users', 'POST /graphql', 'GET /missing'])(
  'a compressed body is refused with the encoding that is accepted: %s',
  async (target) => {
    const response = await send(
      `${target} HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(response).toMatch(/^HTTP\/1.1 415 .*accept-encoding: identity\r\n.*without the header content-encoding/s)
  },
)

it('a body with content-encoding: identity is read', async () => {
  const head = `POST /users HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${tenant.key}\r\ncontent-encoding: Identity\r\n`
  expect(await sendAndWait(`${head}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`)).toMatch(
    /^HTTP\/1.1 422 /,
  )
})

it('a page has no demo key over HTTP/1.0, which nginx speaks and browsers do not', async () => {
  const page = (version: string) =>
    send(`GET / HTTP/${version}\r\nhost: localhost\r\naccept: text/html\r\nconnection: close\r\n\r\n`)
  expect(await page('1.1')).toContain('fus_demo')
  expect(await page('1.0')).toMatch(/^HTTP\/1.1 200 (?!.*fus_demo)/s)
})

describe('a WebSocket', () => {
  const upgrade =
    'upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13'

  it.each([
    ['GET /users HTTP/1.1', upgrade],
    ['GET /missing HTTP/1.1', upgrade],
    ['GET /graphql/files/x HTTP/1.1', upgrade],
    ['POST /graphql HTTP/1.1', upgrade],
    ['GET /graphql HTTP/1.0', upgrade],
    ['GET /graphql HTTP/1.1', upgrade.replace('connection: Upgrade', 'connection: keep-alive')],
    ['GET /graphql HTTP/1.1', `${upgrade}\r\nhost: y`],
  ])('is refused for %s with the headers %j', async (line, headers) => {
    const socket = connect(port, '127.0.0.1')
    // The client waits for the gateway, which closes the connection.
    socket.write(`${line}\r\nhost: x\r\nx-api-key: ${tenant.key}\r\n${headers}\r\n\r\n`)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 400 /)
    expect(head).toMatch(/content-type: application\/(problem\+)?json/)
    const { detail, errors } = JSON.parse(body)
    const isHost = headers.includes('host')
    expect(detail ?? errors[0].message).toContain(isHost ? 'several headers host' : 'WebSockets are opened at /graphql')
  })

  it('is refused only if the client asks for one', async () => {
    const response = await send(
      'GET /health HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n',
    )
    expect(response).toMatch(/^HTTP\/1.1 200 /)
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

  it.each([
    ['requests', pipelined(1_479)],
    [
      'a request for a WebSocket',
      'GET /graphql HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ],
  ])('is disconnected if it sends more, and the rest is not parsed: %s', async (_name, rest) => {
    const before = app.log.length
    let parsed = 0
    const count = () => {
      parsed += 1
    }
    app.app.server.on('request', count)
    // They fit into one part of 64 KiB, which Node reads as a whole.
    expect(await send(pipelined(21) + rest)).toBe('')
    app.app.server.off('request', count)
    expect(parsed).toBe(21)
    const lines = app.log.slice(before).filter(({ msg }) => msg === 'request')
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(app.log.slice(before).map(({ msg }) => msg)).toContain(
      'a connection with more than 20 requests at a time is closed',
    )
    expect(await send('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /)
  })
})

describe('clients that connect at the same time', () => {
  it('may close their connections before they are read', async () => {
    const accepted = once(app.app.server, 'connection')
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /health HTTP/1.1\r\n')
      socket.resetAndDestroy()
    })
    await accepted
    expect(await send('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /)
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
        'cache-control',
        'x-api-key',
        'idempotency-key',
        'traceparent',
        'baggage',
        'sentry-trace',
        'if-match',
        'if-none-match',
        'x-tracking',
      ]),
    )
    const response = await request('https://app.example.com', 'GET')
    expect(response.headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect(response.headers['access-control-expose-headers']).toContain('link')
  })

  it('gets 204 for an OPTIONS that is no preflight request', async () => {
    const headers = { origin: 'https://app.example.com' }
    const { statusCode, body } = await app.app.inject({ method: 'OPTIONS', url: '/users/nobody', headers })
    expect([statusCode, body]).toEqual([204, ''])
  })

  it('gets no CORS headers if the origin is not configured', async () => {
    for (const origin of ['https://evil.example', 'https://app.example.com.evil.example', 'null']) {
      expect((await request(origin, 'GET')).headers['access-control-allow-origin']).toBeUndefined()
    }
  })
})

describe('a page of another origin, without CORS_ORIGINS', () => {
  const preflight = (from: TestApp, origin: string) => {
    const headers = { origin, 'access-control-request-method': 'POST' }
    return from.app.inject({ method: 'OPTIONS', url: '/graphql', headers })
  }
  const refusals = ({ log }: TestApp) => log.filter(({ msg }) => String(msg).includes('CORS_ORIGINS'))

  it('can call a gateway on the embedded database if it comes from this machine, and gets no demo key', async () => {
    const local = await app.startAnother({ corsOrigins: readConfig({}).corsOrigins, demoKey: 'fus_demo' })
    for (const origin of ['http://localhost:5173', 'http://localhost', 'http://127.0.0.1:3000']) {
      expect((await preflight(local, origin)).headers['access-control-allow-origin']).toBe(origin)
      const page = await local.app.inject({ url: '/', headers: { origin, accept: 'text/html', host: 'localhost' } })
      expect(page.body).toMatch(/^<!doctype html>(?!.*fus_demo)/s)
    }
    expect(refusals(local)).toEqual([])
    const others = [
      'https://localhost:5173',
      'http://localhost.evil.example',
      'http://evil.example:*',
      'http://localhost:*.x',
    ]
    for (const origin of others) {
      expect((await preflight(local, origin)).headers['access-control-allow-origin']).toBeUndefined()
    }
    await local.close()
    expect(readConfig({ CORS_ORIGINS: 'https://app.example.com' }).corsOrigins).toEqual(['https://app.example.com'])
  })

  it('cannot call a gateway on PostgreSQL, which logs that once', async () => {
    const closed = await app.startAnother({ corsOrigins: readConfig({ DATABASE_URL: 'postgres://a/b' }).corsOrigins })
    for (const origin of ['http://localhost:5173', 'https://app.example.com']) {
      const { statusCode, headers } = await preflight(closed, origin)
      expect([statusCode, headers['access-control-allow-origin'], headers.vary]).toEqual([405, undefined, undefined])
    }
    expect(refusals(closed)).toMatchObject([{ level: 40, origin: 'http://localhost:5173' }])
    await closed.close()
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
