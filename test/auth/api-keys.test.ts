import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { scopes as allScopes } from '../../src/engine/auth/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant('Acme')
})
afterAll(() => app.close())

interface Created {
  readonly apiKey: { readonly id: string } | null
  readonly key: string | null
  readonly userErrors: readonly { code: string; field: string[] }[]
}

async function create(input: object, creator = tenant): Promise<Created> {
  const mutation = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) {
    apiKey { id name scopes expiresAt revokedAt lastUsedAt } key userErrors { code field } } }`
  return (await app.graphql<{ createApiKey: Created }>(creator, mutation, { input })).data.createApiKey
}

describe('createApiKey', () => {
  it('creates a key that works, with the scopes of the creator by default', async () => {
    const { apiKey, key, userErrors } = await create({ name: ' Site ' })
    expect([apiKey, userErrors]).toEqual([
      {
        id: expect.stringMatching(/^key_/),
        name: 'Site',
        scopes: allScopes,
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
      },
      [],
    ])
    expect((await app.graphql({ ...tenant, key: String(key) }, '{ viewer { keyName } }')).data).toEqual({
      viewer: { keyName: 'Site' },
    })
  })

  it('creates a key with some scopes that expires', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString()
    const { apiKey } = await create({ name: 'n', scopes: ['users:read'], expiresAt })
    expect(apiKey).toMatchObject({ scopes: ['users:read'], expiresAt })
  })

  it('creates no key that outlives the key of its creator, or a token', async () => {
    const { tenantAppId } = tenant
    const expiresAt = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 120_000)
    const scopes = ['keys:write', 'tokens:create']
    const { key } = await createKey(app.database, { tenantAppId, name: 'short', scopes, expiresAt })
    const creator = { ...tenant, key }
    expect((await create({ name: 'n' }, creator)).apiKey).toMatchObject({ expiresAt: expiresAt.toISOString() })
    const later = { name: 'n', expiresAt: new Date(expiresAt.getTime() + 1_000).toISOString() }
    expect((await create(later, creator)).userErrors).toEqual([{ code: 'OUT_OF_RANGE', field: ['expiresAt'] }])
    const mint =
      'mutation { createAccessToken(input: { scopes: ["keys:write"], expiresInSeconds: 60 }) { accessToken expiresAt } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string; expiresAt: string } }>(creator, mint)
    const { accessToken: token, expiresAt: end } = data.createAccessToken
    expect((await create({ name: 'n' }, { ...creator, token })).apiKey).toMatchObject({ expiresAt: end })
  })

  it('creates no more than 20 valid keys', async () => {
    const other = await app.createTenant('Many')
    for (let number = 1; number < 20; number += 1) expect((await create({ name: 'n' }, other)).userErrors).toEqual([])
    expect((await create({ name: 'n' }, other)).userErrors).toEqual([{ code: 'CONFLICT', field: ['name'] }])
    const where = { tenantAppId: other.tenantAppId, name: 'n' }
    await app.database.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } })
    expect((await create({ name: 'n' }, other)).userErrors).toEqual([])
  })

  it.each([
    [{ name: ' ' }, 'REQUIRED', 'name'],
    [{ name: 'two\nlines' }, 'INVALID_FORMAT', 'name'],
    [{ name: 'x'.repeat(201) }, 'TOO_LONG', 'name'],
    [{ name: 'n', scopes: ['nonsense'] }, 'INVALID_FORMAT', 'scopes'],
    [{ name: 'n', scopes: ['users:read'] }, 'OUT_OF_RANGE', 'scopes'],
    [{ name: 'n', expiresAt: '2020-01-01T00:00:00.000Z' }, 'OUT_OF_RANGE', 'expiresAt'],
  ])('rejects %j', async (input, code, field) => {
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'k',
      scopes: ['keys:write'],
    })
    const before = await app.database.prisma.apiKey.count()
    const { apiKey, userErrors } = await create(input, { ...tenant, key })
    expect([apiKey, userErrors]).toMatchObject([null, [{ code, field: [field] }]])
    expect(await app.database.prisma.apiKey.count()).toBe(before)
  })
})

describe('revokeApiKey', () => {
  it('ends a key, and changes nothing the second time', async () => {
    const { apiKey, key } = await create({ name: 'n' })
    const mutation = `mutation { revokeApiKey(input: { id: "${apiKey?.id}" }) { apiKey { id revokedAt } userErrors { code } } }`
    const first = await app.graphql(tenant, mutation)
    expect(first.data).toEqual({
      revokeApiKey: { apiKey: { id: apiKey?.id, revokedAt: expect.any(String) }, userErrors: [] },
    })
    expect(await app.graphql(tenant, mutation)).toEqual(first)
    expect((await app.rest({ ...tenant, key: String(key) }, 'GET', '/users')).statusCode).toBe(401)
  })

  it.each(['nobody', '', '\0', 'x'.repeat(200)])('rejects the id %j', async (id) => {
    const mutation = 'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { userErrors { code field } } }'
    const { data } = await app.graphql(tenant, mutation, { id })
    expect(data).toEqual({ revokeApiKey: { userErrors: [{ code: 'NOT_FOUND', field: ['id'] }] } })
  })
})

interface Page {
  readonly nodes: readonly { readonly name: string; readonly scopes: readonly string[] }[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string }
}

describe('apiKeys', () => {
  it('lists the keys page by page', async () => {
    const other = await app.createTenant('Other')
    for (let number = 1; number <= 4; number += 1) await create({ name: `key ${number}` }, other)
    const names: string[] = []
    const readPage = async (query: string, after: string | null) =>
      (await app.graphql<{ apiKeys: Page }>(other, query, { after })).data.apiKeys
    let after: string | null = null
    do {
      const query =
        'query ($after: String) { apiKeys(first: 2, after: $after) { nodes { name scopes } pageInfo { hasNextPage endCursor } } }'
      const { nodes, pageInfo } = await readPage(query, after)
      names.push(...nodes.map(({ name }) => name))
      for (const { scopes } of nodes) expect(scopes).toEqual(allScopes)
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
    } while (after !== null)
    expect(names).toEqual(['key of Other', 'key 1', 'key 2', 'key 3', 'key 4'])
  })

  it('needs the scope keys:write', async () => {
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'k',
      scopes: ['users:read'],
    })
    const { errors } = await app.graphql({ ...tenant, key }, '{ apiKeys { nodes { id } } }')
    expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
  })
})
