import { randomBytes } from 'node:crypto'
import { createKeyRing, createSigningKeys, type KeyRing, rotateSigningKey } from '@fusion-gateway/auth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStoredSecrets } from '../../src/domain/secrets/stored-secrets.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusionOn } from '../support/command-database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const newKey = () => randomBytes(32).toString('base64')

describe('verify secrets', () => {
  let database: TestDatabase
  const [first, second] = [newKey(), newKey()]

  beforeAll(async () => {
    database = await createTestDatabase()
    await fusionOn(database, ['signing-keys', 'rotate'], { env: { SECRET_KEYS: first } })
  })
  afterAll(() => database.close())

  const verify = async (SECRET_KEYS: string, ...args: string[]) => {
    const { code, stdout } = await fusionOn(database, ['verify', 'secrets', ...args], { env: { SECRET_KEYS } })
    return [code, stdout.trim().replaceAll('\t', '|').split('\n')]
  }

  it('says with which key each is encrypted, and encrypts it with the first one', async () => {
    expect(await verify(first)).toEqual([0, ['signing key|key 1|1']])
    expect(await verify(second)).toEqual([1, ['signing key|unknown key|1']])
    expect(await verify(`${second},${first}`)).toEqual([1, ['signing key|key 2|1']])
    expect(await verify(second, '--encrypt')).toEqual([1, ['signing key|unknown key|1']])
    expect(await verify(`${second},${first}`, '--encrypt')).toEqual([0, ['signing key|key 1|1']])
    expect(await verify(second)).toEqual([0, ['signing key|key 1|1']])
  })

  it('encrypts a private key that is stored unencrypted', async () => {
    await rotateSigningKey(database)
    expect(await verify(first)).toEqual([1, ['signing key|unencrypted|1']])
    expect(await verify(first, '--encrypt')).toEqual([0, ['signing key|key 1|1']])
    expect(await verify(first)).toEqual([0, ['signing key|key 1|1']])
  })
})

describe('a stored secret', () => {
  let app: TestApp
  let tenant: TestTenant
  const [key, other] = [randomBytes(32), randomBytes(32)]

  beforeAll(async () => {
    app = await startTestApp()
    tenant = await app.createTenant()
  })
  afterAll(() => app.close())

  async function storagesOf(ring: KeyRing | undefined): Promise<string[]> {
    const found: string[] = []
    for await (const { kind, storage } of readStoredSecrets(app.database, ring)) found.push(`${kind}: ${storage}`)
    return found
  }

  it('of a webhook, and the private key that signs tokens, are encrypted with the same key', async () => {
    const { data } = await app.graphql(
      tenant,
      'mutation { createWebhook(input: { url: "https://example.com", eventTypes: [USER_CREATED] }) { userErrors { message } } createAccessToken(input: {}) { accessToken } }',
    )
    expect(data['createWebhook']).toEqual({ userErrors: [] })
    expect(await storagesOf(app.keyRing)).toEqual(['webhook: key 1', 'signing key: key 1'])
    expect(await storagesOf(undefined)).toEqual(['webhook: unknown key', 'signing key: unknown key'])
    const token = (data['createAccessToken'] as { accessToken: string }).accessToken
    expect((await app.graphql({ ...tenant, token }, '{ users { totalCount } }')).errors).toBeUndefined()
  })

  it('that is not encrypted is used, and can be encrypted', async () => {
    const plain = createSigningKeys(app.database)
    await rotateSigningKey(app.database)
    const { kid } = await plain.current()
    expect(await storagesOf(app.keyRing)).toEqual(['webhook: key 1', 'signing key: unencrypted'])
    const ring = createKeyRing([key])
    for await (const { storage, encrypt } of readStoredSecrets(app.database, ring)) {
      if (storage === 'unencrypted') await encrypt?.(ring)
    }
    expect(await storagesOf(ring)).toEqual(['webhook: unknown key', 'signing key: key 1'])
    expect(await createSigningKeys(app.database, ring).current()).toMatchObject({ kid })
    for (const wrong of [undefined, createKeyRing([other])]) {
      const keys = createSigningKeys(app.database, wrong)
      await expect(keys.current()).rejects.toThrow('A stored secret cannot be read at the moment.')
      // Tokens are verified with the public key.
      expect(await keys.find(kid)).toBeDefined()
    }
  })
})
