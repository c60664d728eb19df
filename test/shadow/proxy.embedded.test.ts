import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { type Comparison, type ComparisonOptions, createComparison } from '../../src/shadow/comparison.ts'
import { always, type OldService, send, startOldService } from '../support/old-service.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  // The services first, so that nothing waits for them.
  for (const end of ends.splice(0)) await end()
})

async function service(...options: Parameters<typeof startOldService>): Promise<OldService> {
  const started = await startOldService(...options)
  ends.push(started.close)
  return started
}

/** Starts a server of bytes. */
async function bytesService(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startProxy(old: string, other: string, options: Partial<ComparisonOptions> = {}) {
  const comparison = createComparison({ old: { url: old }, new: { url: other }, sendsWrites: false, ...options })
  comparison.server.listen(0, '127.0.0.1')
  await once(comparison.server, 'listening')
  ends.push(() => comparison.end())
  return { comparison, port: (comparison.server.address() as AddressInfo).port }
}

/** Waits until some requests were reported, and returns the report. */
async function reported({ summary }: Comparison, requests: number) {
  await expect.poll(() => summary().requests).toBe(requests)
  return summary()
}

/** Sends a request, and returns the response as it came. */
async function get(
  port: number,
  path: string,
  options: object = {},
  body = '',
): Promise<IncomingMessage & { body: Buffer }> {
  const sent = httpRequest({ port, path, host: '127.0.0.1', agent: false, ...options })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return Object.assign(response, { body: await buffer(response) })
}

/** Sends bytes, and returns those that come back until the connection is closed. */
async function rawBytes(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  return (await buffer(socket)).toString('latin1')
}

const quick = { instead: always({ a: 1 }) }

describe('a client of the proxy gets the response of the old service unchanged', () => {
  it('byte for byte: the status line, the headers with their spelling, order and repetitions, and the body', async () => {
    const body = gzipSync(randomBytes(50))
    const head = [
      'HTTP/1.1 207 Strange But True',
      'X-Zeta: 1',
      'content-TYPE: application/json',
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'Content-Encoding: gzip',
      `Content-Length: ${body.length}`,
      'X-Latin: é',
    ]
    const old = await bytesService((socket) => {
      socket.once('data', () => {
        socket.write(
          `${[...head, 'Connection: x-hop, close', 'X-Hop: 1', 'Keep-Alive: timeout=1'].join('\r\n')}\r\n\r\n`,
          'latin1',
        )
        socket.end(body)
      })
    })
    const other = await service(quick)
    const { port } = await startProxy(old, other.url)
    const received = await rawBytes(port, 'GET /users HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(received).toBe(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n${body.toString('latin1')}`)
  })

  it.each([
    ['cannot be reached', async () => 'http://127.0.0.1:1', 'failure'],
    ['sends no response', () => bytesService(() => undefined), undefined],
    ['responds with rubbish', () => bytesService((socket) => socket.end('no HTTP\r\n\r\n')), 'failure'],
    [
      'breaks off',
      () => bytesService((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{')),
      'failure',
    ],
    [
      'sends no JSON',
      async () => (await service({ instead: always({ a: 1 }, { 'content-type': 'text/html' }) })).url,
      'header',
    ],
  ])('also when the gateway %s', async (_what, start, kind) => {
    const old = await service(quick)
    const { port, comparison } = await startProxy(old.url, await start())
    for (let count = 0; count < 3; count += 1) {
      const { statusCode, body } = await get(port, '/users/1')
      expect([statusCode, body.toString()]).toEqual([200, '{"a":1}'])
    }
    if (kind === undefined) return expect(comparison.summary().requests).toBe(0)
    const { differences, different } = await reported(comparison, 3)
    expect([different, differences[0]?.kind]).toEqual([3, kind])
  })

  it('while it arrives, in both directions', async () => {
    const chunk = randomBytes(65_536)
    const old = createHttpServer((request, response) => {
      // Each chunk of the request is sent back before the next one is sent.
      request.on('data', (data) => response.write(data))
      request.on('end', () => response.end())
    })
    old.listen(0, '127.0.0.1')
    await once(old, 'listening')
    ends.push(() => old.close())
    const { port, comparison } = await startProxy(
      `http://127.0.0.1:${(old.address() as AddressInfo).port}`,
      'http://127.0.0.1:1',
    )
    const sent = httpRequest({ port, host: '127.0.0.1', method: 'PUT', path: '/users/1', agent: false })
    sent.write(chunk)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const hash = createHash('sha256')
    const chunks = 40
    for (let count = 1; count <= chunks; count += 1) {
      for (let left = chunk.length; left > 0; ) {
        const data: Buffer | null = response.read()
        if (data) {
          hash.update(data)
          left -= data.length
        } else await once(response, 'readable')
      }
      if (count < chunks) sent.write(chunk)
    }
    sent.end()
    expect((await buffer(response)).length).toBe(0)
    const expected = createHash('sha256')
    for (let count = 0; count < chunks; count += 1) expected.update(chunk)
    expect(hash.digest('hex')).toBe(expected.digest('hex'))
    // More than a gateway accepts is not kept.
    expect((await reported(comparison, 1)).notCompared).toEqual({ 'a request body of more than 1 MiB': 1 })
  })

  it('to requests of every form: a GET with a body, with chunks, a POST without a body, HEAD, and paths as they are', async () => {
    const old = await service(quick)
    const { port } = await startProxy(`${old.url}/v1`, 'http://127.0.0.1:1')
    const json = { 'content-type': 'application/json' }
    await get(port, '/fusion/profiles', { headers: { ...json, 'content-length': 5 } }, '["a"]')
    await get(port, '/fusion/profiles', { headers: { ...json, 'transfer-encoding': 'chunked' } }, '["b"]')
    await get(port, '/users/a%2Fb?c=%20&c=+', { method: 'POST' })
    expect((await get(port, '/users', { method: 'HEAD' })).headers['content-type']).toBe('application/json')
    expect(old.requests.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['GET', '/v1/fusion/profiles', '["a"]'],
      ['GET', '/v1/fusion/profiles', '["b"]'],
      ['POST', '/v1/users/a%2Fb?c=%20&c=+', ''],
      ['HEAD', '/v1/users', ''],
    ])
  })

  it('or 502 if there is none, and a broken connection if it breaks off', async () => {
    const { port, comparison } = await startProxy('http://127.0.0.1:1', 'http://127.0.0.1:1')
    const { statusCode, body } = await get(port, '/users')
    expect([statusCode, JSON.parse(body.toString())]).toEqual([
      502,
      {
        type: 'about:blank',
        title: 'Bad Gateway',
        status: 502,
        detail: 'The old service cannot be reached: ECONNREFUSED.',
      },
    ])
    expect(comparison.summary().notCompared).toEqual({ 'the old service failed: ECONNREFUSED': 1 })
    const broken = await bytesService((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'))
    })
    const second = await startProxy(broken, 'http://127.0.0.1:1')
    await expect(get(second.port, '/users')).rejects.toThrow('aborted')
  })

  it('after the old service has closed a connection that was kept', async () => {
    let connections = 0
    const old = await bytesService((socket) => {
      connections += 1
      let requests = 0
      socket.on('data', () => {
        requests += 1
        // The second request of a connection meets its end.
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
        else socket.destroy()
      })
    })
    const { port } = await startProxy(old, 'http://127.0.0.1:1')
    for (let count = 0; count < 3; count += 1) expect((await get(port, '/users')).statusCode).toBe(200)
    expect(connections).toBe(3)
  })
})

describe('the proxy sends to the gateway', () => {
  it('reads after the client has its response, and no writes', async () => {
    const order: string[] = []
    const old = await service({
      instead(request, response) {
        order.push(`old ${request.method}`)
        send(response, 200, { a: 1 })
        return true
      },
    })
    const other = await service({
      instead(request, response) {
        order.push(`new ${request.method}`)
        send(response, 200, { a: 1 })
        return true
      },
    })
    const { port, comparison } = await startProxy(old.url, other.url)
    const { body } = await get(port, '/users/1')
    order.push('client')
    expect(body.toString()).toBe('{"a":1}')
    await get(port, '/users', { method: 'POST', headers: { 'content-length': 2 } }, '{}')
    expect(await reported(comparison, 2)).toMatchObject({ equal: 1, notCompared: { writes: 1 } })
    expect(order.filter((line) => line.startsWith('new'))).toEqual(['new GET'])
    expect(order.indexOf('new GET')).toBeGreaterThan(order.indexOf('old GET'))
  })

  it('with sendsWrites, writes too, in their order among reads', async () => {
    const started: string[] = []
    let running = 0
    let mixed = false
    const other = await service({
      instead(request, response) {
        started.push(`${request.method} ${request.url}`)
        running += 1
        if (request.method === 'PUT' && running > 1) mixed = true
        setTimeout(() => {
          running -= 1
          send(response, 200, { a: 1 })
        }, 5)
        return true
      },
    })
    const old = await service(quick)
    const { port, comparison } = await startProxy(old.url, other.url, { sendsWrites: true })
    for (let count = 0; count < 5; count += 1) {
      await get(port, `/users/${count}`, { method: 'PUT', headers: { 'content-length': 2 } }, '{}')
      await get(port, `/users/${count}`)
    }
    expect((await reported(comparison, 10)).equal).toBe(10)
    expect(mixed).toBe(false)
    expect(started).toEqual([0, 1, 2, 3, 4].flatMap((count) => [`PUT /users/${count}`, `GET /users/${count}`]))
  })

  it('the credentials of the options, and to the old service those of the client', async () => {
    const [old, other] = [await service(quick), await service(quick)]
    const { port, comparison } = await startProxy(old.url, other.url, {
      new: { url: other.url, credential: { 'x-api-key': 'new' } },
    })
    await get(port, '/users/1', {
      headers: { 'X-API-Key': 'client', authorization: 'Bearer a.b.c', 'if-none-match': '"1"' },
    })
    await reported(comparison, 1)
    expect(old.requests[0]?.headers).toMatchObject({
      'x-api-key': 'client',
      authorization: 'Bearer a.b.c',
      'if-none-match': '"1"',
    })
    expect(other.requests[0]?.headers).toMatchObject({ 'x-api-key': 'new' })
    expect(other.requests[0]?.headers).not.toHaveProperty('authorization')
    expect(other.requests[0]?.headers).not.toHaveProperty('if-none-match')
  })

  it('a bounded number of requests while it is slow: further ones are counted', async () => {
    const waiting: (() => void)[] = []
    const other = await service({
      instead(_, response) {
        waiting.push(() => send(response, 200, { a: 1 }))
        return true
      },
    })
    const old = await service(quick)
    const { port, comparison } = await startProxy(old.url, other.url)
    const total = 1_100
    for (let count = 0; count < total; count += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => get(port, `/users/${count + index}`)))
    }
    // 16 are sent, and 1,000 wait.
    await expect
      .poll(() => comparison.summary().notCompared)
      .toEqual({ 'requests while too many others waited': total - 1_016 })
    expect(other.requests.length).toBe(16)
    const timer = setInterval(() => {
      for (const respond of waiting.splice(0)) respond()
    }, 1)
    expect((await reported(comparison, total)).equal).toBe(1_016)
    clearInterval(timer)
  })
})
