import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { createLookup, createPrivateNetworks, readRetryAfter } from '@fusion-gateway/network'
import { afterEach, describe, expect, it } from 'vitest'
import { createFetchContent, fetchLimited, readFeed } from '../../src/domain/job/handlers/fetch-content.ts'
import type { JobHandler } from '../../src/domain/job/worker/handler.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(response: RequestListener): Promise<string> {
  const server = createServer(response)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const bytesOf = (text: string) => ({ bytes: Buffer.from(text) })

function run(handler: JobHandler, payload: unknown): Promise<unknown> {
  const context = { signal: new AbortController().signal, attempt: 1, progress: () => undefined }
  return Promise.resolve(handler(payload as never, context))
}

const userAgent = 'Test/1.0 (+https://example.com)'
const fetchAny = createFetchContent({ allowPrivateNetworks: true, userAgent })
const fetchPublic = createFetchContent({ allowPrivateNetworks: false, userAgent })

describe('fetch_content', () => {
  it.each([
    [
      'RSS',
      `<rss version="2.0"><channel><title>t</title><link>https://feed.example/</link>
        <item><guid>one</guid></item><item><link>https://feed.example/two</link></item><item><guid>one</guid></item>
        <item><guid>three</guid><source url="https://other.example/feed">Other</source></item></channel></rss>`,
      ['one', 'https://feed.example/two', 'three'],
      ['https://feed.example/', 'https://other.example/feed'],
    ],
    [
      'Atom',
      `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><id>yt:channel:C1</id><title>t</title>
        <entry><id>yt:video:V1</id></entry><entry><id>yt:video:V2</id><source><id>yt:channel:C2</id></source></entry></feed>`,
      ['yt:video:V1', 'yt:video:V2'],
      ['yt:channel:C1', 'yt:channel:C2'],
    ],
    [
      'JSON',
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 't',
        feed_url: 'https://feed.example/feed.json',
        items: [{ id: '1' }, { id: '2' }],
      }),
      ['1', '2'],
      ['https://feed.example/feed.json'],
    ],
  ])('reads the ids of an %s feed', async (_, body, contentIds, contentGroupIds) => {
    const url = await serve((_request, response) => response.end(body))
    expect(await run(fetchAny, { url })).toEqual({ contentIds, contentGroupIds })
  })

  it.each([
    [{}, 'The payload needs a url'],
    [null, 'The payload needs a url'],
    [{ url: 'not a url' }, 'The payload needs a url'],
    [{ url: 'file:///etc/passwd' }, 'http or https'],
    [{ url: 'ftp://example.com/' }, 'http or https'],
    [{ url: 'http://user:secret@example.com/' }, 'user or a password'],
    [{ url: 'http://127.0.0.1:1/' }, 'port of the URL is blocked'],
  ])('fails permanently for the payload %j', async (payload, message) => {
    await expect(run(fetchAny, payload)).rejects.toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining(message),
    })
  })

  it('fails permanently if the response is not a feed or has the status 404', async () => {
    for (const text of [
      '<html><body>hello</body></html>',
      '<constructor/>',
      '<toString><item><id>1</id></item></toString>',
    ]) {
      const page = await serve((_request, response) => response.end(text))
      await expect(run(fetchAny, { url: page })).rejects.toMatchObject({ name: 'PermanentError' })
    }
    const missing = await serve((_request, response) => response.writeHead(404).end())
    await expect(run(fetchAny, { url: missing })).rejects.toMatchObject({ name: 'PermanentError' })
  })

  it('parses a large feed while the event loop goes on, until the signal aborts', async () => {
    const items = Array.from(
      { length: 60_000 },
      (_, index) => `<item><guid>urn:item:${index}</guid><title>t</title></item>`,
    )
    const feed = `<rss version="2.0"><channel><title>t</title>${items.join('')}</channel></rss>`
    let rounds = 0
    const timer = setInterval(() => {
      rounds += 1
    }, 1)
    const { contentIds } = await readFeed(bytesOf(feed), new AbortController().signal)
    clearInterval(timer)
    expect(contentIds).toHaveLength(60_000)
    expect(rounds).toBeGreaterThan(20)
    const controller = new AbortController()
    const aborted = readFeed(bytesOf(feed), controller.signal)
    controller.abort(new Error('cancelled'))
    await expect(aborted).rejects.toThrow('cancelled')
  })

  it('fails with a retryable error if the server is unavailable or unreachable', async () => {
    const broken = await serve((_request, response) => response.writeHead(503).end())
    await expect(run(fetchAny, { url: broken })).rejects.toMatchObject({ name: 'Error', code: 'BAD_STATUS' })
    await expect(run(fetchAny, { url: 'http://127.0.0.1:2/' })).rejects.toMatchObject({
      name: 'Error',
      code: 'ECONNREFUSED',
    })
  })
})

describe('a limited fetch', () => {
  const limits = {
    timeoutMilliseconds: 10_000,
    maxBytes: 1_000,
    maxRedirects: 2,
    allowPrivateNetworks: true,
    lookup: createLookup(),
    userAgent,
  }
  const { signal } = new AbortController()

  it('accepts a body up to the limit and rejects a larger one, compressed or not', async () => {
    const url = await serve(({ url = '' }, response) => {
      const body = 'x'.repeat(Number(url.slice(2)))
      if (url.startsWith('/z')) response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body))
      else response.end(body)
    })
    for (const path of ['/p', '/z']) {
      expect((await fetchLimited(new URL(`${url}${path}1000`), limits, signal)).bytes).toHaveLength(1_000)
      await expect(fetchLimited(new URL(`${url}${path}1001`), limits, signal)).rejects.toThrow(
        /answered with more than/,
      )
    }
  })

  it('follows redirects up to the limit and rejects more', async () => {
    const url = await serve(({ url = '' }, response) => {
      const left = Number(url.slice(1))
      if (left === 0) response.end('there')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    expect(String((await fetchLimited(new URL(`${url}/2`), limits, signal)).bytes)).toBe('there')
    await expect(fetchLimited(new URL(`${url}/3`), limits, signal)).rejects.toThrow('redirects too often')
  })

  it('follows a redirect whose location is in UTF-8, and one that needs the cookie that it sets', async () => {
    const url = await serve(({ url = '', headers }, response) => {
      if (url === '/') response.writeHead(302, { location: Buffer.from('/straße').toString('latin1') }).end()
      else if (url !== '/stra%C3%9Fe') response.writeHead(404).end()
      else if (headers.cookie === 'seen=1; lang=de') response.end('there')
      else response.writeHead(307, { location: url, 'set-cookie': ['seen=1; Path=/', 'lang=de; HttpOnly'] }).end()
    })
    const options = { ...limits, maxRedirects: 5 }
    expect(String((await fetchLimited(new URL(url), options, signal)).bytes)).toBe('there')
  })

  it('sends a cookie to no other origin', async () => {
    let received: unknown = 'nothing'
    const other = await serve(({ headers }, response) => {
      received = headers.cookie
      response.end()
    })
    const url = await serve((_request, response) =>
      response.writeHead(302, { location: other, 'set-cookie': 'secret=1' }).end(),
    )
    await fetchLimited(new URL(url), limits, signal)
    expect(received).toBeUndefined()
  })

  it('names itself, and sends no headers of browsers', async () => {
    let received: Record<string, unknown> = {}
    const url = await serve(({ headers }, response) => {
      received = headers
      response.end()
    })
    await fetchLimited(new URL(url), limits, signal)
    expect(received['user-agent']).toBe(userAgent)
    expect(Object.keys(received).filter((name) => /^(sec-|accept-language)/.test(name))).toEqual([])
    expect(received['accept-encoding']).toContain('gzip')
  })

  it.each([
    ['429', '120', 120],
    ['503', new Date(Date.now() + 60_000).toUTCString(), 60],
    ['503', 'soon', undefined],
    ['500', '120', undefined],
  ])('tells when to try again after status %s with retry-after: %s', async (status, header, seconds) => {
    const url = await serve((_request, response) => response.writeHead(Number(status), { 'retry-after': header }).end())
    const error: { code?: string; retryAfterSeconds?: number } = await fetchLimited(new URL(url), limits, signal).catch(
      (reason) => reason,
    )
    expect(error.code).toBe('BAD_STATUS')
    // A date is in whole seconds.
    if (seconds === undefined) expect(error.retryAfterSeconds).toBeUndefined()
    else expect(Math.round(Number(error.retryAfterSeconds) / 2) * 2).toBeLessThanOrEqual(seconds)
  })

  it.each<[string, number | undefined]>([
    ['0', 0],
    ['120', 120],
    ['Sun, 01 Jan 2040 00:00:00 GMT', 2040],
    ['Sunday, 01-Jan-40 00:00:00 GMT', 2040],
    ['Sun Jan  1 00:00:00 2040', 2040],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Sat, 31 Dec 2039 23:59:60 GMT', 2040],
    ['', undefined],
    ['-1', undefined],
    ['+5', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['2040-01-01', undefined],
    ['2040-01-01T00:00:00Z', undefined],
    ['Jan 1 2040', undefined],
    ['1 Jan 2040', undefined],
    ['soon', undefined],
    ['Sun, 01 Jan 2040 00:00:00 UTC', undefined],
    ['Sun, 01 Jan 2040 00:00:00 +0000', undefined],
    ['Sun, 1 Jan 2040 00:00:00 GMT', undefined],
    ['Thu, 30 Feb 2040 00:00:00 GMT', undefined],
    ['Sun, 00 Jan 2040 00:00:00 GMT', undefined],
    ['Sun, 01 Jan 2040 24:00:00 GMT', undefined],
    ['Sun, 01 jan 2040 00:00:00 GMT', undefined],
    ['Sun, 01 Jan 2040 00:00:00 GMT, 5', undefined],
    ['Sun Jan 1 00:00:00 2040', undefined],
  ])('reads the forms of retry-after that RFC 9110 has, in UTC, and no others: %j', (header, expected) => {
    const seconds = readRetryAfter(header)
    if (expected !== 2040) expect(seconds).toBe(expected)
    else expect(Math.abs(Number(seconds) - (Date.UTC(2040) - Date.now()) / 1_000)).toBeLessThan(60)
  })

  it('times out if the server is silent or its response never ends', async () => {
    const short = { ...limits, timeoutMilliseconds: 200 }
    const silent = await serve(() => undefined)
    await expect(fetchLimited(new URL(silent), short, signal)).rejects.toMatchObject({ code: 'TIMEOUT' })
    const endless = await serve((_request, response) => void response.write('x'))
    await expect(fetchLimited(new URL(endless), short, signal)).rejects.toMatchObject({ code: 'TIMEOUT' })
  })
})

describe('private addresses', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '0.0.0.0',
    '100.64.0.1',
    '168.63.129.16',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])('include %s', (address) => {
    expect(createPrivateNetworks().check(address, address.includes(':') ? 'ipv6' : 'ipv4')).toBe(true)
  })

  it.each(['1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
    'do not include %s',
    (address) => {
      expect(createPrivateNetworks().check(address, address.includes(':') ? 'ipv6' : 'ipv4')).toBe(false)
    },
  )

  it('get no connection by address, by name or in another spelling', async () => {
    let connections = 0
    const url = await serve((_request, response) => response.end('secret'))
    servers.at(-1)?.on('connection', () => {
      connections += 1
    })
    const { port } = new URL(url)
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]']) {
      for (const scheme of ['http', 'https']) {
        await expect(run(fetchPublic, { url: `${scheme}://${host}:${port}/` })).rejects.toMatchObject({
          name: 'PermanentError',
          message: 'The URL leads to an address that is not public',
        })
      }
    }
    expect(connections).toBe(0)
    // If private addresses are allowed, the handler starts TLS on the checked socket.
    await expect(run(fetchAny, { url: `https://127.0.0.1:${port}/` })).rejects.toMatchObject({ name: 'Error' })
    expect(connections).toBe(1)
  })
})
