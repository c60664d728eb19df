import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '../../src/auth/api-key.ts'
import { createKey, revokeKey } from '../../src/auth/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const ask = (key: string | undefined, url = '/users?limit=1') =>
  app.app.inject({ url, headers: key === undefined ? {} : { 'x-api-key': key } })

async function makeKey(expiresAt?: Date) {
  const { tenantAppId } = tenant
  return createKey(app.database, { tenantAppId, name: 'made by a test', expiresAt })
}

describe('a key', () => {
  it('is fus_, 43 characters and a checksum of 6', () => {
    const key = generateApiKey()
    expect(key).toMatch(/^fus_[0-9A-Za-z]{49}$/)
    expect(isWellFormedApiKey(key)).toBe(true)
  })

  it('with any character changed is not well-formed', () => {
    const key = generateApiKey()
    for (let index = 0; index < key.length; index += 1) {
      const changed = key.slice(0, index) + (key[index] === 'a' ? 'b' : 'a') + key.slice(index + 1)
      expect(isWellFormedApiKey(changed), changed).toBe(false)
    }
  })

  it('is stored as its SHA-256 and nothing else', async () => {
    const { row, key } = await makeKey()
    expect(row.hash).toBe(hashApiKey(key))
    expect(JSON.stringify(await app.database.prisma.apiKey.findMany())).not.toContain(key.slice(4, 20))
  })
})

describe('without a valid key', () => {
  it('a missing, malformed, unknown, revoked and expired key get the same answer, but for the request id', async () => {
    const revoked = await makeKey()
    await revokeKey(app.database, revoked.row.id)
    const expired = await makeKey(new Date(Date.now() + 60_000))
    await app.database.prisma.apiKey.updateMany({ where: { id: expired.row.id }, data: { expiresAt: new Date() } })
    const keys = [undefined, '', 'nonsense', generateApiKey(), revoked.key, expired.key]
    const answers = await Promise.all(keys.map((key) => ask(key)))
    const bodies = answers.map(({ body, headers }) => body.replaceAll(String(headers['x-request-id']), '<id>'))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(keys.map(() => 401))
    expect(new Set(bodies).size).toBe(1)
    expect(new Set(answers.map(({ headers }) => Object.keys(headers).join())).size).toBe(1)
    expect(answers[0]?.headers['www-authenticate']).toBe('ApiKey header="x-api-key"')
  })

  it.each(['/users', '/users/1', '/fusion/profiles', '/fusion/jobs/1', '/graphql?query={__typename}', '/graphql'])(
    'GET %s is refused',
    async (url) => expect((await ask(undefined, url)).statusCode).toBe(401),
  )

  it.each([
    ['POST', '/users'],
    ['PUT', '/users/1'],
    ['POST', '/graphql'],
  ] as const)('%s %s is refused before its body is read', async (method, url) => {
    const answer = await app.app.inject({
      method,
      url,
      payload: 'x'.repeat(2_000_000),
      headers: { 'content-type': 'text/x' },
    })
    expect(answer.statusCode).toBe(401)
  })

  it('/graphql answers in its own form', async () => {
    const answer = await app.app.inject({ method: 'POST', url: '/graphql', payload: { query: '{ __typename }' } })
    expect(answer.json()).toEqual({
      errors: [{ message: 'Send a valid API key in the header x-api-key.', extensions: { code: 'UNAUTHENTICATED' } }],
    })
  })

  it.each(['/health', '/ready', '/openapi.json'])('%s answers all the same', async (url) => {
    expect((await ask(undefined, url)).statusCode).toBe(200)
  })

  it('GraphiQL opens for a browser', async () => {
    const answer = await app.app.inject({ url: '/graphql', headers: { accept: 'text/html' } })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toContain('text/html')
  })

  it('a bad checksum never reaches the database', async () => {
    const key = generateApiKey()
    const mistyped = key.slice(0, 10) + (key[10] === 'a' ? 'b' : 'a') + key.slice(11)
    const answer = await ask(mistyped)
    expect(answer.statusCode).toBe(401)
    const line = app.log.find(({ requestId }) => requestId === answer.headers['x-request-id'])
    expect(line).toMatchObject({ status: 401, sql: 0 })
  })
})

describe('with a valid key', () => {
  it('the use is noted, at most once a minute', async () => {
    const { row, key } = await makeKey()
    const lastUse = async () => (await app.database.prisma.apiKey.findFirst({ where: { id: row.id } }))?.lastUsedAt
    expect(await lastUse()).toBeNull()
    await ask(key)
    await expect.poll(lastUse).toBeInstanceOf(Date)
    const first = await lastUse()
    await ask(key)
    const second = await lastUse()
    expect(second).toEqual(first)
    const longAgo = new Date(Date.now() - 61_000)
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { lastUsedAt: longAgo } })
    await ask(key)
    await expect.poll(lastUse).not.toEqual(longAgo)
  })

  it('it works until it expires', async () => {
    const { key } = await makeKey(new Date(Date.now() + 60_000))
    expect((await ask(key)).statusCode).toBe(200)
  })
})

describe('a key that was found', () => {
  it('is not looked up again for a moment; then a revocation is known', async () => {
    const remembering = await startTestApp({ keyCacheMilliseconds: 300 })
    const owner = await remembering.createTenant()
    const { key, row } = await createKey(remembering.database, { tenantAppId: owner.tenantAppId, name: 'k' })
    const status = async () => {
      const answer = await remembering.app.inject({ url: '/users?limit=1', headers: { 'x-api-key': key } })
      return answer.statusCode
    }
    const lookups = remembering.lookups()
    expect([await status(), await status(), await status()]).toEqual([200, 200, 200])
    expect(remembering.lookups() - lookups).toBe(1)
    await revokeKey(remembering.database, row.id)
    const revoked = performance.now()
    while ((await status()) !== 401) expect(performance.now() - revoked).toBeLessThan(5_000)
    await remembering.close()
  })

  it('that nobody has is never remembered', async () => {
    const remembering = await startTestApp({ keyCacheMilliseconds: 60_000 })
    const key = generateApiKey()
    const lookups = remembering.lookups()
    for (let request = 0; request < 2; request += 1) {
      const answer = await remembering.app.inject({ url: '/users?limit=1', headers: { 'x-api-key': key } })
      expect(answer.statusCode).toBe(401)
    }
    expect(remembering.lookups() - lookups).toBe(2)
    await remembering.close()
  })
})
