import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey, rotateKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { hasServer, isDistributed } from '../support/postgresql.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

interface NewKey {
  readonly id: string
  /** Sends requests with the key. */
  readonly holder: TestTenant
}

/** Creates a key as a client does, by a key or a token. */
async function create(creator: TestTenant, input: object = {}, from = app): Promise<NewKey> {
  const mutation = `mutation ($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { apiKey { id } key userErrors { message } } }`
  const { data, errors } = await from.graphql<{
    createApiKey: { apiKey: { id: string } | null; key: string | null; userErrors: object[] }
  }>(creator, mutation, { input: { name: 'n', ...input } })
  const { apiKey, key, userErrors } = data?.createApiKey ?? {}
  if (!apiKey || !key) throw new Error(JSON.stringify(errors ?? userErrors))
  const { tenantAppId, name } = creator
  return { id: apiKey.id, holder: { tenantAppId, name, key, keyId: apiKey.id } }
}

async function tokenOf(holder: TestTenant): Promise<TestTenant> {
  const mutation = 'mutation { createAccessToken(input: { scopes: ["keys:write", "users:read"] }) { accessToken } }'
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(holder, mutation)
  return { ...holder, token: data.createAccessToken.accessToken }
}

const revoke = (holder: TestTenant, id: string) =>
  app.graphql(
    holder,
    'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } userErrors { code } } }',
    { id },
  )

const revokeAsOperator = (_: TestTenant, id: string) => revokeKey(app.database, id)

async function works({ holder }: { readonly holder: TestTenant }): Promise<boolean> {
  return (await app.rest(holder, 'GET', '/users?limit=1')).statusCode !== 401
}

/** The ids of the keys of a tenant that are valid. */
async function validKeys({ tenantAppId }: TestTenant): Promise<string[]> {
  const keys = await app.database.prisma.apiKey.findMany({ where: { tenantAppId, revokedAt: null } })
  return keys.map(({ id }) => id)
}

describe.each([
  ['revokeApiKey', revoke],
  ['keys revoke', revokeAsOperator],
])('%s', (_, end) => {
  it('ends the keys that a leaked key has created, and theirs, and no others', async () => {
    const [tenant, other] = [await app.createTenant(), await app.createTenant()]
    const leaked = await create(tenant)
    const created = await create(leaked.holder)
    const byToken = await create(await tokenOf(created.holder), { scopes: ['users:read'] })
    const sibling = await create(tenant)
    const working = async () => Promise.all([leaked, created, byToken, sibling].map(works))
    expect(await working()).toEqual([true, true, true, true])
    await end(tenant, leaked.id)
    expect(await working()).toEqual([false, false, false, true])
    expect((await validKeys(tenant)).toSorted()).toEqual([tenant.keyId, sibling.id].toSorted())
    expect(await validKeys(other)).toHaveLength(1)
  })

  it('ends the keys of a key that is revoked already', async () => {
    const tenant = await app.createTenant()
    const leaked = await create(tenant)
    const created = await create(leaked.holder)
    // As version 0.1.0 revoked it.
    await app.database.prisma.apiKey.updateMany({ where: { id: leaked.id }, data: { revokedAt: new Date() } })
    expect(await works(created)).toBe(true)
    await end(tenant, leaked.id)
    expect(await works(created)).toBe(false)
  })

  it('ends no key of another tenant, even if its creator has the same id', async () => {
    const [tenant, other] = [await app.createTenant(), await app.createTenant()]
    const leaked = await create(tenant)
    const theirs = await createKey(app.database, { tenantAppId: other.tenantAppId, name: 'n', creatorId: leaked.id })
    await end(tenant, leaked.id)
    expect(await validKeys(other)).toContain(theirs.row.id)
  })

  it('leaves no valid key behind that is created at the same time', async () => {
    const tenant = await app.createTenant()
    for (let round = 0; round < 10; round += 1) {
      const leaked = await create(tenant)
      const creating = Array.from({ length: 4 }, () => create(leaked.holder).catch(() => undefined))
      await Promise.all([...creating, end(tenant, leaked.id)])
      expect(await validKeys(tenant)).toEqual([tenant.keyId])
    }
  })
})

it('a key that was revoked some seconds ago creates no key, also on a gateway that remembers it as valid', async () => {
  const tenant = await app.createTenant()
  const leaked = await create(tenant)
  const gateway = await app.startAnother({ keyCacheMilliseconds: 60_000 })
  await create(leaked.holder, {}, gateway)
  await revoke(tenant, leaked.id)
  await expect(create(leaked.holder, {}, gateway)).rejects.toThrow('UNAUTHENTICATED')
  expect(await validKeys(tenant)).toEqual([tenant.keyId])
  await gateway.close()
})

describe('the successor of a rotated key', () => {
  it('has the same creator, so it ends with that', async () => {
    const tenant = await app.createTenant()
    const creator = await create(tenant)
    const old = await create(creator.holder)
    const { row } = await rotateKey(app.database, old.id, 0)
    expect(row.creatorId).toBe(creator.id)
    await revoke(tenant, creator.id)
    expect(await validKeys(tenant)).toEqual([tenant.keyId])
  })

  it.each([
    ['revokeApiKey', revoke],
    ['keys revoke', revokeAsOperator],
  ])(
    'ends the keys that its predecessors have created when it is revoked by %s, and not the other way round',
    async (_, end) => {
      const tenant = await app.createTenant()
      const first = await create(tenant)
      const ofFirst = await create(first.holder)
      const { row: second } = await rotateKey(app.database, first.id, 60_000)
      const { row: third } = await rotateKey(app.database, second.id, 60_000)
      const ofOther = await create(tenant)
      await end(tenant, second.id)
      expect((await validKeys(tenant)).toSorted()).toEqual([tenant.keyId, first.id, third.id, ofOther.id].toSorted())
      const late = await create(first.holder)
      await create(late.holder)
      await end(tenant, third.id)
      expect((await validKeys(tenant)).toSorted()).toEqual([tenant.keyId, first.id, ofOther.id].toSorted())
      expect(await works(ofFirst)).toBe(false)
    },
  )

  it('is not left behind if its creator is revoked at the same time', async () => {
    const tenant = await app.createTenant()
    const creator = await create(tenant)
    const old = await create(creator.holder)
    const { promise: rotated, resolve } = Promise.withResolvers<void>()
    const revoking = rotated.then(() => revokeKey(app.database, creator.id))
    await app.database.sql.transact(async (sql) => {
      await rotateKey({ sql }, old.id, 60_000)
      resolve()
      // In the embedded database, one transaction follows the other.
      if (hasServer) await expect.poll(countWaiting).toBe(1)
    })
    await revoking
    expect(await validKeys(tenant)).toEqual([tenant.keyId])
  })
})

/** How many sessions wait for a lock. */
async function countWaiting(): Promise<number> {
  // The session on a node waits, and not the one of the gateway.
  if (isDistributed) return (await app.database.prisma.$queryRaw<unknown[]>`SELECT 1 FROM citus_lock_waits`).length
  const waiting = await app.database.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return waiting.length
}

it('ApiKey.creator is the key that created it, in lists, nodes and payloads', async () => {
  const tenant = await app.createTenant()
  const created = await create(tenant)
  const last = await create(await tokenOf(created.holder), { scopes: ['users:read'] })
  const { data } = await app.graphql(
    tenant,
    `query ($id: ID!) { apiKeys { nodes { id creator { id creator { id } } } } node(id: $id) { ... on ApiKey { creator { id } } } }`,
    { id: last.id },
  )
  expect(data).toEqual({
    apiKeys: {
      nodes: [
        { id: tenant.keyId, creator: null },
        { id: created.id, creator: { id: tenant.keyId, creator: null } },
        { id: last.id, creator: { id: created.id, creator: { id: tenant.keyId } } },
      ],
    },
    node: { creator: { id: created.id } },
  })
  const mutation = 'mutation { createApiKey(input: { name: "n" }) { apiKey { creator { name } } } }'
  expect((await app.graphql(created.holder, mutation)).data).toEqual({
    createApiKey: { apiKey: { creator: { name: 'n' } } },
  })
})

describe('a key that lacks a scope of another key', () => {
  it('cannot revoke it, and neither can a token that lacks one', async () => {
    const tenant = await app.createTenant()
    const target = await create(tenant, { scopes: ['users:read', 'jobs:read', 'jobs:work'] })
    const weak = await create(tenant, { scopes: ['keys:write', 'tokens:create', 'users:read'] })
    for (const holder of [weak.holder, await tokenOf(tenant)]) {
      const { errors } = await revoke(holder, target.id)
      expect(errors).toMatchObject([
        {
          message: 'The key has scopes that you do not have: jobs:read, jobs:work.',
          extensions: { code: 'FORBIDDEN' },
        },
      ])
    }
    expect(await works(target)).toBe(true)
    const equal = await create(tenant, { scopes: ['keys:write', 'users:read', 'jobs:read', 'jobs:work'] })
    expect((await revoke(equal.holder, target.id)).errors).toBeUndefined()
    expect(await works(target)).toBe(false)
  })

  it('can revoke itself', async () => {
    const tenant = await app.createTenant()
    const weak = await create(tenant, { scopes: ['keys:write'] })
    expect((await revoke(weak.holder, weak.id)).errors).toBeUndefined()
    expect(await validKeys(tenant)).toEqual([tenant.keyId])
  })
})
