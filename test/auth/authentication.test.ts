import type { Viewer } from '@fusion-gateway/auth'
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '@fusion-gateway/auth'
import { GatewayError } from '@fusion-gateway/base'
import { createAuthenticate } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const get = (key: string | undefined, url = '/users?limit=1') =>
  app.app.inject({ url, headers: key === undefined ? {} : { 'x-api-key': key } })

async function newKey(expiresAt?: Date) {
  const { tenantAppId } = tenant
  return createKey(app.database, { tenantAppId, name: 'made by a test', expiresAt })
}

it('further refusals than a hundred in a second wait, as others do, and valid keys are accepted meanwhile', async () => {
  const authenticator = {
    async authenticate(_: unknown, { apiKey }: { readonly apiKey: string | undefined }) {
      if (apiKey !== 'valid') throw new GatewayError('UNAUTHENTICATED', 'No.')
      return { tenantAppId: 'tenant' } as Viewer
    },
  }
  const authenticate = createAuthenticate(authenticator, app.database)
  const ask = (apiKey: string) =>
    authenticate({ headers: { 'x-api-key': apiKey }, viewer: null, statements: { statements: 0 } })
  let refused = 0
  const count = () => {
    refused += 1
  }
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  const asked = Array.from({ length: 150 }, () => ask('unknown').catch(count))
  await new Promise((resolve) => setImmediate(resolve))
  expect(refused).toBe(100)
  expect(await ask('valid')).toMatchObject({ tenantAppId: 'tenant' })
  // The next second.
  now.mockReturnValue(performance.now() + 1_000)
  await ask('unknown').catch(() => undefined)
  expect(refused).toBe(100)
  now.mockRestore()
  await Promise.all(asked)
  expect(refused).toBe(150)
})

describe('an API key', () => {
  it('consists of fus_, 43 characters and a checksum of 6 characters', () => {
    const key = generateApiKey()
    expect(key).toMatch(/^fus_[0-9A-Za-z]{49}$/)
    expect(isWellFormedApiKey(key)).toBe(true)
  })

  it('is not well-formed if one character is changed', () => {
    const key = generateApiKey()
    for (let index = 0; index < key.length; index += 1) {
      const changed = key.slice(0, index) + (key[index] === 'a' ? 'b' : 'a') + key.slice(index + 1)
      expect(isWellFormedApiKey(changed), changed).toBe(false)
    }
  })

  it('is stored only as its SHA-256 hash', async () => {
    const { row, key } = await newKey()
    expect(row.hash).toBe(hashApiKey(key))
    expect(JSON.stringify(await app.database.prisma.apiKey.findMany())).not.toContain(key.slice(4, 20))
  })
})

describe('a request without a valid key', () => {
  it('gets the same response for a missing, malformed, unknown, revoked and expired key, except for the request id', async () => {
    const revoked = await newKey()
    await revokeKey(app.database, revoked.row.id)
    const expired = await newKey(new Date(Date.now() + 60_000))
    await app.database.prisma.apiKey.updateMany({ where: { id: expired.row.id }, data: { expiresAt: new Date() } })
    const keys = [undefined, '', 'nonsense', generateApiKey(), revoked.key, expired.key]
    const responses = await Promise.all(keys.map((key) => get(key)))
    const bodies = responses.map(({ body, headers }) => body.replaceAll(String(headers['x-request-id']), '<id>'))
    expect(responses.map(({ statusCode }) => statusCode)).toEqual(keys.map(() => 401))
    expect(new Set(bodies).size).toBe(1)
    expect(new Set(responses.map(({ headers }) => Object.keys(headers).join())).size).toBe(1)
    expect(responses[0]?.headers['www-authenticate']).toBe('ApiKey header="x-api-key", Bearer')
  })

  it.each(['/users', '/users/1', '/fusion/profiles', '/fusion/jobs/1', '/graphql?query={__typename}', '/graphql'])(
    'gets 401 from GET %s',
    async (url) => expect((await get(undefined, url)).statusCode).toBe(401),
  )

  it.each([
    ['POST', '/users'],
    ['PUT', '/users/1'],
    ['POST', '/graphql'],
  ] as const)('gets 401 from %s %s before the gateway reads its body', async (method, url) => {
    const response = await app.app.inject({
      method,
      url,
      payload: 'x'.repeat(2_000_000),
      headers: { 'content-type': 'text/x' },
    })
    expect(response.statusCode).toBe(401)
  })

  it('gets a GraphQL error from /graphql', async () => {
    const response = await app.app.inject({ method: 'POST', url: '/graphql', payload: { query: '{ __typename }' } })
    const message =
      'Send a valid API key in the header x-api-key, or an access token in the header Authorization: Bearer.'
    expect(response.json()).toEqual({ errors: [{ message, extensions: { code: 'UNAUTHENTICATED' } }] })
    expect((await get(undefined)).json().detail).toBe(message)
  })

  it('learns that a key is no Bearer token', async () => {
    for (const key of [tenant.key, generateApiKey(), 'fus_nonsense']) {
      const response = await app.app.inject({ url: '/users', headers: { authorization: `Bearer ${key}` } })
      expect([response.statusCode, response.headers['www-authenticate']]).toEqual([
        401,
        'ApiKey header="x-api-key", Bearer',
      ])
      expect(response.json().detail).toBe('An API key is sent in the header x-api-key, not as a Bearer token.')
    }
  })

  it.each(['/health', '/ready', '/openapi.json'])('gets 200 from %s', async (url) => {
    expect((await get(undefined, url)).statusCode).toBe(200)
  })

  it('gets GraphiQL from /graphql if it accepts HTML', async () => {
    const response = await app.app.inject({ url: '/graphql', headers: { accept: 'text/html' } })
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toContain('text/html')
  })

  it('gets 401 without a statement if the checksum of the key is wrong', async () => {
    const key = generateApiKey()
    const mistyped = key.slice(0, 10) + (key[10] === 'a' ? 'b' : 'a') + key.slice(11)
    const response = await get(mistyped)
    expect(response.statusCode).toBe(401)
    const line = app.log.find(({ requestId }) => requestId === response.headers['x-request-id'])
    expect(line).toMatchObject({ status: 401, sql: 0 })
  })
})

describe('a valid key', () => {
  it('has the time of its last use stored at most once a minute', async () => {
    const { row, key } = await newKey()
    const lastUse = async () => (await app.database.prisma.apiKey.findFirst({ where: { id: row.id } }))?.lastUsedAt
    expect(await lastUse()).toBeNull()
    await get(key)
    await expect.poll(lastUse).toBeInstanceOf(Date)
    const first = await lastUse()
    await get(key)
    const second = await lastUse()
    expect(second).toEqual(first)
    const longAgo = new Date(Date.now() - 61_000)
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { lastUsedAt: longAgo } })
    await get(key)
    await expect.poll(lastUse).not.toEqual(longAgo)
  })

  it('works before it expires', async () => {
    const { key } = await newKey(new Date(Date.now() + 60_000))
    expect((await get(key)).statusCode).toBe(200)
  })
})

describe('the key cache', () => {
  it('holds a key for a limited time, after which a revocation takes effect', async () => {
    const caching = await app.startAnother({ keyCacheMilliseconds: 1_000 })
    const owner = await caching.createTenant()
    const { key, row } = await createKey(caching.database, { tenantAppId: owner.tenantAppId, name: 'k' })
    const status = async () => {
      const response = await caching.app.inject({ url: '/users?limit=1', headers: { 'x-api-key': key } })
      return response.statusCode
    }
    const lookups = caching.lookups()
    expect([await status(), await status(), await status()]).toEqual([200, 200, 200])
    expect(caching.lookups() - lookups).toBe(1)
    await revokeKey(caching.database, row.id)
    const revoked = performance.now()
    while ((await status()) !== 401) expect(performance.now() - revoked).toBeLessThan(5_000)
    await caching.close()
  })

  it('remembers an unknown key for a second', async () => {
    const caching = await app.startAnother({ keyCacheMilliseconds: 60_000 })
    const { keyId } = await caching.createTenant()
    const key = generateApiKey()
    const status = async () =>
      (await caching.app.inject({ url: '/users?limit=1', headers: { 'x-api-key': key } })).statusCode
    const lookups = caching.lookups()
    const startedAt = performance.now()
    expect([await status(), await status()]).toEqual([401, 401])
    if (performance.now() - startedAt < 1_000) expect(caching.lookups() - lookups).toBe(1)
    // It is stored after it was sent, such as by an import.
    await app.database.prisma.apiKey.updateMany({ where: { id: keyId }, data: { hash: hashApiKey(key) } })
    await expect.poll(status, { timeout: 5_000 }).toBe(200)
    await caching.close()
  })

  it('answers all requests that wait for a lookup which fails once', async () => {
    const keys = await Promise.all(Array.from({ length: 10 }, () => newKey()))
    const failing = vi.spyOn(app.database.driver, 'send').mockRejectedValueOnce(new Error('canceling statement'))
    const responses = await Promise.all([...keys, ...keys].map(({ key }) => get(key)))
    failing.mockRestore()
    expect(responses.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 20 }, () => 200))
  })

  it('looks for many keys with few statements, if they are sent at the same time', async () => {
    const { key } = await app.createTenant()
    const lookups = app.lookups()
    const keys = [...Array.from({ length: 300 }, generateApiKey), key]
    const responses = await Promise.all(
      keys.map((sent) => app.app.inject({ url: '/users?limit=1', headers: { 'x-api-key': sent } })),
    )
    expect(responses.map(({ statusCode }) => statusCode)).toEqual(keys.map((sent) => (sent === key ? 200 : 401)))
    expect(app.lookups() - lookups).toBeLessThan(30)
  })
})
