import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { brotliDecompressSync, createBrotliDecompress, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorHandler } from '../../src/engine/http/plugins/error-handler.ts'
import { compressResponse } from '../../src/engine/http/response-body.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'

const pageSize = 500
const pages = 20

let app: TestApp
let tenant: TestTenant
let large: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  large = await app.createTenant()
  address = await addressOf(app)
  await createUsers(tenant, 2 * pageSize, 100)
  // 30 MB that hardly shrink: more than the kernel buffers in the two sockets.
  await createUsers(large, pages * pageSize, 2_000)
})
afterAll(() => app.close())

async function createUsers({ tenantAppId }: TestTenant, count: number, phoneBytes: number): Promise<void> {
  for (let from = 0; from < count; from += pageSize) {
    await app.database.prisma.user.createMany({
      data: Array.from({ length: pageSize }, (_, index) => ({
        tenantAppId,
        id: `user-${from + index}`,
        // Not the name, which an index has all parts of.
        phone: randomBytes(phoneBytes).toString('base64'),
        name: 'Ada',
        email: 'a@example.com',
      })),
    })
  }
}

/** Sends a request by node:http, which leaves the body as it came. */
async function send(
  path: string,
  encodings: string,
  { body, key = tenant.key, ...options }: http.RequestOptions & { body?: string; key?: string } = {},
) {
  const headers = { ...(key && { 'x-api-key': key }), 'accept-encoding': encodings, ...options.headers }
  const request = http.request(`${address}${path}`, { agent: false, ...options, headers }).end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

const decoders: Record<string, (body: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync }

async function decoded(response: http.IncomingMessage): Promise<string> {
  const body = await buffer(response)
  return (decoders[response.headers['content-encoding'] ?? '']?.(body) ?? body).toString()
}

const graphql = (query: string): http.RequestOptions & { body: string } => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query }),
})

describe('a response', () => {
  const requests: [string, string, object][] = [
    ['REST', '/users?limit=3', {}],
    ['a long REST response', '/users?limit=400', {}],
    ['GraphQL', '/graphql', graphql('{ users(first: 20) { nodes { id phone } } }')],
    ['a long GraphQL response', '/graphql', graphql('{ users(first: 500) { nodes { id phone } } }')],
    ['the streamed list', '/users', {}],
  ]
  it.each(requests)('is compressed with the encoding that the client prefers: %s', async (_name, path, options) => {
    const plain = await send(path, 'identity', options)
    expect(plain.headers['content-encoding']).toBeUndefined()
    const text = withoutCost(await decoded(plain))
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.5, gzip;q=0.9', 'gzip'],
      ['GZIP; Q=0.9 , br;q=nonsense', 'gzip'],
      ['gzip;q=0, *', 'br'],
    ] as const) {
      const response = await send(path, accepted, options)
      expect(response.statusCode).toBe(200)
      expect(response.headers['content-encoding']).toBe(encoding)
      expect(response.headers.vary).toContain('accept-encoding')
      expect(withoutCost(await decoded(response))).toBe(text)
    }
  })

  it.each([
    ['of less than 1 KiB', '/users?limit=1', 'br', {}],
    ['to a client that refuses', '/users?limit=3', 'gzip;q=0, br;q=0', {}],
    ['to a client that prefers the plain body', '/users?limit=3', 'gzip;q=0.5, *;q=0.1, identity', {}],
    ['to a client that does not ask', '/users?limit=3', '', {}],
  ])('%s is not compressed', async (_name, path, encodings, options) => {
    const response = await send(path, encodings, options)
    expect(response.headers['content-encoding']).toBeUndefined()
    expect(JSON.parse(await decoded(response)).users).toBeDefined()
  })

  it('has the same ETag in each encoding', async () => {
    const tags = ['identity', 'br', 'gzip'].map(
      async (encodings) => (await send('/users?limit=3', encodings)).headers.etag,
    )
    expect(new Set(await Promise.all(tags)).size).toBe(1)
  })

  it.each(['/users?limit=3', '/users?limit=400', '/users'])('to HEAD has no body: %s', async (path) => {
    const response = await send(path, 'br', { method: 'HEAD' })
    expect(response.statusCode).toBe(200)
    expect(await buffer(response)).toHaveLength(0)
  })
})

it('a response with a new secret is not compressed, also not by proxies', async () => {
  const fields = Array.from({ length: 4 }, (_, index) => `a${index}: createAccessToken(input: {}) { accessToken }`)
  const response = await send('/graphql', 'br', graphql(`mutation { ${fields.join(' ')} }`))
  expect([response.headers['content-encoding'], response.headers['cache-control']]).toEqual([
    undefined,
    'no-store, no-transform',
  ])
  expect((await decoded(response)).length).toBeGreaterThan(1_024)
  const key = 'createApiKey(input: { name: "new", scopes: ["users:read"] }) { key }'
  const created = await send('/graphql', 'br', graphql(`mutation { ${key} }`))
  expect(created.headers['cache-control']).toContain('no-transform')
  expect(await decoded(created)).toContain('fus_')
})

it('events are not compressed: they would wait for each other', async () => {
  const events = await subscribe(address, tenant.key, 'subscription { jobs { id } }')
  expect(events.headers.get('content-encoding')).toBeNull()
  expect((await events.next())?.data).toEqual({ data: { jobs: [] } })
  events.close()
})

it('a file of GraphiQL is compressed once', async () => {
  const page = await decoded(await send('/graphql', 'br', { key: '', headers: { accept: 'text/html' } }))
  const lengths: number[] = []
  for (const [script] of page.matchAll(/\/graphql\/files\/[\w-]+\.js/g)) {
    const response = await send(script, 'br')
    expect(response.headers['content-encoding']).toBe('br')
    const text = await decoded(response)
    expect(text).toContain('function')
    lengths.push(text.length)
  }
  expect(Math.max(...lengths)).toBeGreaterThan(1_000_000)
})

describe('the streamed list, compressed', () => {
  it('is read only as fast as the client receives', async () => {
    const requested = once(app.app.server, 'request')
    const streamed = await app.statementsOf(async () => {
      const response = await send('/users', 'br', { key: large.key })
      const [, reply] = (await requested) as [unknown, http.ServerResponse]
      while (!reply.writableNeedDrain) await setImmediate()
      // Time in which the rest could be read.
      for (let index = 0; index < pages; index += 1) await buffer(await send('/users?limit=400', 'identity'))
      response.destroy()
      await once(reply, 'close')
    })
    expect(app.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
    expect(streamed.length - pages).toBeLessThan(pages)
  })

  it('is cut off when a page fails, so that it does not look complete', async () => {
    const response = await send('/users', 'br', { key: large.key })
    let text = ''
    let renamed: Promise<unknown> | undefined
    const outcome = (async () => {
      for await (const chunk of response.pipe(createBrotliDecompress())) {
        text += String(chunk)
        renamed ??= app.database.runAsOwner('ALTER TABLE "user" RENAME TO user_away')
        await renamed
      }
    })()
    const closed = once(response, 'close').catch(() => undefined)
    await Promise.race([closed, outcome.catch(() => undefined)])
    await renamed
    await app.database.runAsOwner('ALTER TABLE user_away RENAME TO "user"')
    expect(response.complete).toBe(false)
    expect(text).not.toContain(']}]}')
  })

  it('is an error that can be read, if it fails before its first byte', async () => {
    const server = Fastify()
    server.register(errorHandler)
    const failing = () =>
      Readable.from(
        (async function* () {
          await setImmediate()
          yield* []
          throw new Error('no page')
        })(),
      )
    server.get('/', { onSend: compressResponse }, (_request, reply) => reply.type('application/json').send(failing()))
    const response = await server.inject({ url: '/', headers: { 'accept-encoding': 'br' } })
    expect([response.statusCode, response.headers['content-encoding']]).toEqual([500, undefined])
    expect(response.json()).toMatchObject({ code: 'INTERNAL' })
  })
})

/** The budget that is left changes with each request. */
function withoutCost(text: string): string {
  return text.replace(/"remaining":\w+/, '')
}
