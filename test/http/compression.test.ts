import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib'
import { compressResponse } from '@fusion-gateway/gateway-kit'
import { errorHandler } from '@fusion-gateway/http'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'

const pageSize = 500

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
  await createUsers(tenant, 2 * pageSize, 100)
})
afterAll(() => app.close())

/** Creates users with texts that hardly shrink. */
const createUsers = ({ tenantAppId }: TestTenant, count: number, phoneBytes: number) =>
  app.database.prisma.$executeRaw`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at, phone)
    SELECT ${tenantAppId}, 'user-' || n, 'Ada', 'a@example.com', now(),
      (SELECT string_agg(md5(n || ' ' || part), '') FROM generate_series(1, ${Math.ceil(phoneBytes / 32)}::int) AS part)
    FROM generate_series(1, ${count}::int) AS n`

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
  const choices = [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['GZIP; Q=0.9 , br;q=nonsense', 'gzip'],
    ['gzip;q=0, *', 'br'],
  ] as const
  it.each(requests)('is compressed with the encoding that the client prefers: %s', async (_name, path, options) => {
    const plain = await send(path, 'identity', options)
    expect(plain.headers['content-encoding']).toBeUndefined()
    const text = withoutCost(await decoded(plain))
    // The choice is the same for all responses.
    const headers = path === '/users?limit=3' ? choices : choices.slice(0, 2)
    for (const [accepted, encoding] of headers) {
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

// test/http/pages.test.ts has the files of pages, which are compressed once.

// test/http/compression.slow.test.ts streams 30 MB over a socket.
describe('the streamed list, compressed', () => {
  const pages = 10
  let large: TestTenant

  beforeAll(async () => {
    large = await app.createTenant()
    // Each page is longer than the buffers on the way.
    await createUsers(large, pages * pageSize, 256)
  })

  /** Opens the list as a stream that is read only on demand, without a socket, which would buffer megabytes. */
  async function open(key: string) {
    const headers = { 'x-api-key': key, 'accept-encoding': 'br' }
    const response = await app.app.inject({ url: '/users', headers, payloadAsStream: true })
    expect(response.headers['content-encoding']).toBe('br')
    return response
  }

  it('is read only as fast as the client receives', async () => {
    const streamed = await app.statementsOf(async () => {
      const stream = (await open(large.key)).stream()
      while (stream.readableLength < stream.readableHighWaterMark) await setImmediate()
      // Time in which the rest could be read.
      for (let index = 0; index < pages; index += 1) await buffer(await send('/users?limit=1', 'identity'))
      for await (const _ of stream) break
    })
    expect(app.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
    expect(streamed.length - pages).toBeLessThan(pages / 2)
  })

  it('is cut off when a page fails, so that it does not look complete', async () => {
    const { tenantAppId } = large
    const { key, row } = await createKey(app.database, { tenantAppId, name: 'revoked' })
    const received: Buffer[] = []
    const outcome = (async () => {
      for await (const chunk of (await open(key)).stream()) {
        received.push(chunk)
        await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { revokedAt: new Date() } })
      }
    })()
    await expect(outcome).rejects.toMatchObject({ code: 'LIGHT_ECONNRESET' })
    const text = String(
      brotliDecompressSync(Buffer.concat(received), { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
    )
    expect(text).toMatch(/^\{"users":\[\{/)
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
