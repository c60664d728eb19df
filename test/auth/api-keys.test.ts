import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, removeEndedKeys } from '../../src/domain/credential/key.service.ts'
import { scopes as allScopes } from '../../src/domain/scopes.ts'
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
  readonly userErrors: readonly { code: string; field: string[]; message: string }[]
}

async function create(input: object, creator = tenant): Promise<Created> {
  const mutation = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) {
    apiKey { id name scopes expiresAt revokedAt lastUsedAt pointsPerMinute } key userErrors { code field message } } }`
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
        pointsPerMinute: null,
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
    expect((await create(later, creator)).userErrors).toMatchObject([{ code: 'OUT_OF_RANGE', field: ['expiresAt'] }])
    const mint =
      'mutation { createAccessToken(input: { scopes: ["keys:write"], expiresInSeconds: 60 }) { accessToken expiresAt } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string; expiresAt: string } }>(creator, mint)
    const { accessToken: token, expiresAt: end } = data.createAccessToken
    expect((await create({ name: 'n' }, { ...creator, token })).apiKey).toMatchObject({ expiresAt: end })
  })

  it('creates no more than 20 valid keys, also at the same time', async () => {
    const other = await app.createTenant('Many')
    const responses = await Promise.all(Array.from({ length: 60 }, () => create({ name: 'n' }, other)))
    expect(responses.filter(({ apiKey }) => apiKey)).toHaveLength(19)
    const rejected = { code: 'CONFLICT', field: ['name'], message: expect.stringContaining('20 valid keys') }
    expect(responses.flatMap(({ userErrors }) => userErrors)).toEqual(Array.from({ length: 41 }, () => rejected))
    const where = { tenantAppId: other.tenantAppId, name: 'n' }
    await app.database.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } })
    expect((await create({ name: 'n' }, other)).userErrors).toEqual([])
  })

  it('creates no more than 100 keys in 24 hours, revoked ones included, and leaves out those of operators', async () => {
    const other = await app.createTenant('Busy')
    const { tenantAppId, keyId: creatorId } = other
    const insert = (number: number, row: object) =>
      app.database.prisma.apiKey.createMany({
        data: Array.from({ length: number }, (_, index) => {
          const id = `key_${JSON.stringify(row)}_${index}`
          return { tenantAppId, id, hash: id, name: 'n', revokedAt: new Date(), ...row }
        }),
      })
    await insert(99, { creatorId })
    await insert(5, { creatorId, createdAt: new Date(Date.now() - 25 * 3_600_000) })
    await insert(5, { creatorId: null })
    expect((await create({ name: 'n' }, other)).userErrors).toEqual([])
    const rejected = {
      code: 'CONFLICT',
      field: ['name'],
      message: expect.stringContaining('100 keys in the last 24 hours'),
    }
    expect((await create({ name: 'n' }, other)).userErrors).toEqual([rejected])
  })

  it('creates a key with at most the rate limit of its creator, which is the default', async () => {
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: 'slow', pointsPerMinute: 1_000 })
    const slow = { ...tenant, key }
    expect((await create({ name: 'n' }, slow)).apiKey).toMatchObject({ pointsPerMinute: 1_000 })
    const mint = 'mutation { createAccessToken(input: { scopes: ["keys:write"] }) { accessToken } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(slow, mint)
    const byToken = await create({ name: 'n' }, { ...slow, token: data.createAccessToken.accessToken })
    expect(byToken.apiKey).toMatchObject({ pointsPerMinute: 1_000 })
    expect((await create({ name: 'n', pointsPerMinute: 7 }, slow)).apiKey).toMatchObject({ pointsPerMinute: 7 })
    const { userErrors } = await create({ name: 'n', pointsPerMinute: 1_001 }, slow)
    expect(userErrors).toMatchObject([{ code: 'OUT_OF_RANGE', field: ['pointsPerMinute'] }])
    expect((await create({ name: 'n', pointsPerMinute: 5_000 })).apiKey).toMatchObject({ pointsPerMinute: 5_000 })
  })

  it.each([
    [{ name: ' ' }, 'REQUIRED', 'name'],
    [{ name: 'two\nlines' }, 'INVALID_FORMAT', 'name'],
    [{ name: 'x'.repeat(201) }, 'TOO_LONG', 'name'],
    [{ name: 'n', scopes: ['nonsense'] }, 'INVALID_FORMAT', 'scopes'],
    [{ name: 'n', scopes: ['users:read'] }, 'OUT_OF_RANGE', 'scopes'],
    [{ name: 'n', expiresAt: '2020-01-01T00:00:00.000Z' }, 'OUT_OF_RANGE', 'expiresAt'],
    [{ name: 'n', scopes: ['keys:write'], pointsPerMinute: 0 }, 'OUT_OF_RANGE', 'pointsPerMinute'],
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

it('keys are removed 30 days after they ended, in batches, and not before the keys that they have created', async () => {
  const { tenantAppId } = await app.createTenant('Old')
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
  const insert = (name: string, row: object, number = 1) =>
    app.database.prisma.apiKey.createMany({
      data: Array.from({ length: number }, (_, index) => {
        const id = `key_${name}_${index}`
        return { tenantAppId, id, hash: id, name, ...row }
      }),
    })
  await insert('revoked', { revokedAt: daysAgo(31), expiresAt: daysAgo(-1) }, 600)
  await insert('expired', { expiresAt: daysAgo(31) })
  await insert('creator of a removed key', { revokedAt: daysAgo(31) })
  await insert('created', { revokedAt: daysAgo(31), creatorId: 'key_creator of a removed key_0' })
  await insert('creator of a key that stays', { revokedAt: daysAgo(31) })
  await insert('valid', { creatorId: 'key_creator of a key that stays_0' })
  await insert('successor of a key that stays', { revokedAt: daysAgo(31) })
  await insert('rotated', { expiresAt: daysAgo(31), successorId: 'key_successor of a key that stays_0' })
  await insert('created by a rotated key', { creatorId: 'key_rotated_0' })
  await insert('revoked lately', { revokedAt: daysAgo(29), expiresAt: daysAgo(28) })
  await insert('expires later', { expiresAt: daysAgo(-1) })
  await removeEndedKeys(app.database)
  const left = await app.database.prisma.apiKey.findMany({ where: { tenantAppId }, orderBy: { name: 'asc' } })
  expect(left.map(({ name }) => name)).toEqual([
    'created by a rotated key',
    'creator of a key that stays',
    'expires later',
    'key of Old',
    'revoked lately',
    'rotated',
    'successor of a key that stays',
    'valid',
  ])
})
