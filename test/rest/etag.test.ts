import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let urls: Record<string, string>

beforeAll(async () => {
  app = await startTestApp({ corsOrigins: ['https://app.example.com'] })
  tenant = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  urls = {
    'a user': `/users/${user.id}`,
    'a page of users': '/users?limit=5',
    profiles: `/fusion/profiles?account_ids=${account.id}`,
    'a job': `/fusion/jobs/${job.id}`,
  }
})
afterAll(() => app.close())

const send = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.app.inject({ method, url, headers: { 'x-api-key': tenant.key, ...headers } })

describe.each(['a user', 'a page of users', 'profiles', 'a job'])('%s', (name) => {
  it('has an ETag, and may be stored by its client if it is validated before each use', async () => {
    const response = await send(urls[name] ?? '')
    expect(response.statusCode).toBe(200)
    // Those that If-Match can name are strong.
    expect(response.headers['etag']).toMatch(name === 'a user' ? /^"[\w-]+"$/ : /^W\/"[\w-]+"$/)
    expect(response.headers['cache-control']).toBe('private, no-cache')
    expect(response.headers['vary']).toBe('Origin, accept-encoding, authorization, x-api-key')
    expect((await send(urls[name] ?? '')).headers['etag']).toBe(response.headers['etag'])
  })

  it.each(['GET', 'HEAD'] as const)('is 304 without a body for a client that has it: %s', async (method) => {
    const url = urls[name] ?? ''
    const { headers } = await send(url)
    const response = await send(url, { 'if-none-match': String(headers['etag']) }, method)
    expect(response.statusCode).toBe(304)
    expect(response.body).toBe('')
    const { etag, vary, 'cache-control': cacheControl, 'x-cost': cost } = headers
    expect(response.headers).toMatchObject({ etag, vary, 'cache-control': cacheControl, 'x-cost': cost })
    expect(response.headers['ratelimit-policy']).toBe(headers['ratelimit-policy'])
    expect(response.headers).not.toHaveProperty('content-length')
    expect(response.headers).not.toHaveProperty('content-type')
  })
})

describe('If-None-Match', () => {
  it.each([
    ['the tag made weak, as by a proxy or an earlier version', (tag: string) => `W/${tag}`, 304],
    ['the tag of a compressed response', (tag: string) => tag.replace(/"$/, '.gzip"'), 304],
    ['one of several tags', (tag: string) => `"a,b", ${tag} , W/"c"`, 304],
    ['all tags', () => '*', 304],
    ['another tag', () => 'W/"another"', 200],
    ['the beginning of the tag', (tag: string) => `${tag.slice(0, -5)}"`, 200],
    ['the tag with another end', (tag: string) => tag.replace(/"$/, '.zip"'), 200],
    ['the tag without quotation marks', (tag: string) => tag.slice(1, -1), 200],
    ['nothing', () => '', 200],
  ])('with %s', async (_name, toHeader, status) => {
    const url = urls['a user'] ?? ''
    const tag = String((await send(url)).headers['etag'])
    expect((await send(url, { 'if-none-match': toHeader(tag) })).statusCode).toBe(status)
    // What `fetch` adds to a request with this header.
    const headers = { 'if-none-match': toHeader(tag), 'cache-control': 'no-cache', pragma: 'no-cache' }
    expect((await send(url, headers)).statusCode).toBe(status)
  })

  it('does not replace the key: a request without one, or for a missing user, gets its error', async () => {
    const anonymous = await send(urls['a user'] ?? '', { 'x-api-key': '', 'if-none-match': '*' })
    expect(anonymous.statusCode).toBe(401)
    const missing = await send('/users/nobody', { 'if-none-match': '*' })
    expect(missing.statusCode).toBe(404)
    expect(missing.headers['cache-control']).toBe('no-store')
    expect(missing.headers['etag']).toBeUndefined()
  })
})

describe('the ETag', () => {
  it('changes with the response', async () => {
    const url = urls['a user'] ?? ''
    const tag = String((await send(url)).headers['etag'])
    await app.rest(tenant, 'PUT', url, { name: 'Another' })
    const response = await send(url, { 'if-none-match': tag })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ name: 'Another' })
    expect(response.headers['etag']).not.toBe(tag)
  })

  it('of a page changes when the link to the next page appears', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    const get = () => app.rest(other, 'GET', '/users?limit=1')
    await create.user({ createdAt: new Date('2026-01-01') })
    const alone = await get()
    await create.user({ createdAt: new Date('2026-01-02') })
    const followed = await get()
    expect(followed.body).toBe(alone.body)
    expect(followed.headers['link']).toBeDefined()
    expect(followed.headers['etag']).not.toBe(alone.headers['etag'])
  })

  it('is missing on what is streamed or written', async () => {
    const responses = [
      await send('/users'),
      await send('/users', {}, 'HEAD'),
      await app.rest(tenant, 'PUT', urls['a user'] ?? '', {}),
      await app.rest(tenant, 'POST', '/users', { name: 'A', email: 'a@b', phone: '1' }),
    ]
    for (const response of responses) {
      expect(response.statusCode).toBeLessThan(300)
      expect(response.headers['etag']).toBeUndefined()
      expect(response.headers['cache-control']).toBe('no-store')
    }
  })
})
