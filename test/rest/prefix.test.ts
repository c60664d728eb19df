import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const create = factoriesFor(app, tenant)
  for (let count = 0; count < 2; count += 1) await create.user()
})
afterAll(() => app.close())

/** The paths in responses to requests of which a proxy has removed this prefix. */
async function pathsIn(prefix: string | undefined) {
  const headers = {
    host: 'gateway.test',
    'x-api-key': tenant.key,
    ...(prefix !== undefined && { 'x-forwarded-prefix': prefix }),
  }
  const payload = { name: 'Ada', email: 'ada@example.com', phone: '1' }
  const created = await app.app.inject({ method: 'POST', url: '/users', headers, payload })
  const page = await app.app.inject({ url: '/users?limit=1', headers })
  const start = await app.app.inject({ url: '/', headers })
  const document = await app.app.inject({ url: '/openapi.json', headers })
  return {
    location: String(created.headers['location']).replace(created.json().id, 'id'),
    link: String(page.headers['link']).replace(/cursor=[\w-]+/, 'cursor=x'),
    openapi: start.json().links.openapi,
    server: document.json().servers[0].url,
  }
}

const rooted = {
  location: '/users/id',
  link: '</users?limit=1&cursor=x>; rel="next"',
  openapi: '/openapi.json',
  server: 'http://gateway.test',
}

describe('the header X-Forwarded-Prefix', () => {
  it.each([
    ['/api', '/api'],
    ['/api/', '/api'],
    ['/Teams/a-b_c~d/v1.2', '/Teams/a-b_c~d/v1.2'],
    [`/${'a'.repeat(99)}`, `/${'a'.repeat(99)}`],
  ])('begins the paths in responses: %s', async (header, prefix) => {
    expect(await pathsIn(header)).toEqual({
      location: `${prefix}/users/id`,
      link: `<${prefix}/users?limit=1&cursor=x>; rel="next"`,
      openapi: `${prefix}/openapi.json`,
      server: `http://gateway.test${prefix}`,
    })
  })

  it.each([
    undefined,
    '',
    '/',
    'api',
    '//evil.example',
    '/\\evil.example',
    '/api//v1',
    'https://evil.example/api',
    '/..',
    '/api/../admin',
    '/.',
    '/.hidden',
    '/%2e%2e',
    '/a b',
    '/a?b',
    '/a#b',
    '/a>; rel="prev"',
    '/a"',
    "/a'b",
    '/api, /v1',
    '/ä',
    `/${'a'.repeat(100)}`,
  ])('is ignored if it is not a plain path: %s', async (header) => {
    expect(await pathsIn(header)).toEqual(rooted)
  })

  it('changes no response that a cache has kept for other clients', async () => {
    const send = (url: string, headers: object) =>
      app.app.inject({ url, headers: { host: 'gateway.test', 'x-api-key': tenant.key, ...headers } })
    for (const url of ['/users?limit=1', '/openapi.json']) {
      const { headers } = await send(url, { 'x-forwarded-prefix': '/other' })
      expect(headers['cache-control'], url).toMatch(/(?:^|, )no-cache$/)
      // Before each use the cache asks whether its response is that of the next client.
      expect((await send(url, { 'if-none-match': headers['etag'] })).statusCode, url).toBe(200)
      const again = await send(url, { 'if-none-match': headers['etag'], 'x-forwarded-prefix': '/other' })
      expect(again.statusCode, url).toBe(304)
    }
    expect((await send('/', { 'x-forwarded-prefix': '/other' })).headers['cache-control']).toBe('no-store')
  })
})
