import { createSigningKeys, rotateSigningKey } from '@fusion-gateway/auth'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { scopes as allScopes, userScopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant('Acme')
  rows = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

interface Created {
  readonly accessToken: string
  readonly expiresAt: string
  readonly userErrors: readonly { code: string; field: string[]; message: string }[]
}

async function create(input: object, creator: TestTenant = tenant, from = app): Promise<Created> {
  const mutation = `mutation ($input: CreateAccessTokenInput!) {
    createAccessToken(input: $input) { accessToken expiresAt userErrors { code field message } } }`
  const { data, errors } = await from.graphql<{ createAccessToken: Created }>(creator, mutation, { input })
  expect(errors).toBeUndefined()
  return data.createAccessToken
}

async function keyFor(scopes: readonly string[], expiresAt?: Date): Promise<TestTenant> {
  const { tenantAppId, name } = tenant
  const { key, row } = await createKey(app.database, { tenantAppId, name: 'made by a test', scopes, expiresAt })
  return { tenantAppId, name, key, keyId: row.id }
}

const withToken = (token: string): TestTenant => ({ ...tenant, token })

/** The response of a REST request with these headers. */
const get = (headers: Record<string, string>, url = '/users?limit=1') => app.app.inject({ url, headers })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A token of this gateway with changed claims, or another header. */
async function forge(claims: object, header: object = {}): Promise<string> {
  const { kid, key } = await createSigningKeys(app.database, app.keyRing).current()
  const now = Math.floor(Date.now() / 1_000)
  return new SignJWT({
    iss: 'urn:fusion-gateway',
    aud: 'urn:fusion-gateway',
    sub: tenant.keyId,
    client_id: tenant.keyId,
    tenant_app_id: tenant.tenantAppId,
    scope: 'users:read contacts:read',
    iat: now,
    exp: now + 60,
    jti: 'x',
    ...claims,
  })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header })
    .sign(key)
}

describe('createAccessToken', () => {
  it('returns a JWT as RFC 9068 describes it, which the keys at /.well-known/jwks.json verify', async () => {
    const { accessToken, expiresAt, userErrors } = await create({
      userId: rows.user.id,
      scopes: ['users:read', 'contacts:read'],
    })
    expect(userErrors).toEqual([])
    const response = await app.app.inject({ url: '/.well-known/jwks.json' })
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      200,
      expect.stringContaining('application/json'),
    ])
    const jwks = response.json<JSONWebKeySet>()
    expect(jwks.keys).toEqual([expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' })])
    expect(Object.keys(jwks.keys[0] ?? {})).not.toContain('d')
    const { payload, protectedHeader } = await jwtVerify(accessToken, createLocalJWKSet(jwks))
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: jwks.keys[0]?.kid })
    expect(payload).toEqual({
      iss: 'urn:fusion-gateway',
      aud: 'urn:fusion-gateway',
      sub: rows.user.id,
      client_id: tenant.keyId,
      tenant_app_id: tenant.tenantAppId,
      scope: 'users:read contacts:read',
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
    })
    expect(Number(payload.exp) - Number(payload.iat)).toBeGreaterThanOrEqual(3_599)
    expect(new Date(Number(payload.exp) * 1_000).toISOString()).toBe(expiresAt)
  })

  it('grants the read scopes of the key by default', async () => {
    const scopeOf = async (input: object, creator?: TestTenant) =>
      decodeJwt((await create(input, creator)).accessToken)['scope']
    expect(await scopeOf({})).toBe('users:read profiles:read contacts:read jobs:read events:read usage:read')
    expect(await scopeOf({ userId: rows.user.id })).toBe('users:read profiles:read contacts:read events:read')
    expect(await scopeOf({}, await keyFor(['tokens:create', 'users:write', 'users:read']))).toBe('users:read')
  })

  it('does not outlive its key, or the token that creates it', async () => {
    const keyExpiresAt = new Date(Date.now() + 120_000)
    const key = await keyFor(['tokens:create', 'users:read'], keyExpiresAt)
    const { accessToken, expiresAt } = await create(
      { expiresInSeconds: 86_400, scopes: ['tokens:create', 'users:read'] },
      key,
    )
    expect(new Date(expiresAt).getTime()).toBeLessThanOrEqual(keyExpiresAt.getTime())
    const second = await create({ expiresInSeconds: 86_400, scopes: ['users:read'] }, { ...key, token: accessToken })
    expect(second.expiresAt).toBe(expiresAt)
  })

  it.each([
    [{ scopes: ['users:read', 'nonsense'] }, 'INVALID_FORMAT', 'scopes'],
    [{ scopes: [] }, 'REQUIRED', 'scopes'],
    [{ scopes: ['users:write'] }, 'OUT_OF_RANGE', 'scopes'],
    [{ expiresInSeconds: 59 }, 'OUT_OF_RANGE', 'expiresInSeconds'],
    [{ expiresInSeconds: 86_401 }, 'OUT_OF_RANGE', 'expiresInSeconds'],
    [{ userId: 'nobody' }, 'NOT_FOUND', 'userId'],
    [{ userId: '\0' }, 'NOT_FOUND', 'userId'],
  ])('rejects %j', async (input, code, field) => {
    const key = await keyFor(['tokens:create', 'users:read', 'jobs:read'])
    const { accessToken, userErrors } = await create(input, key)
    expect(accessToken).toBeNull()
    expect(userErrors).toMatchObject([{ code, field: [field] }])
  })

  it.each(allScopes.filter((scope) => !userScopes.includes(scope)))('rejects %s for a user', async (scope) => {
    const { userErrors } = await create({ userId: rows.user.id, scopes: [scope] })
    expect(userErrors).toMatchObject([{ code: 'OUT_OF_RANGE', field: ['scopes'] }])
  })

  it('rejects a user whose id is that of the key, because the token would not be bound to the user', async () => {
    const { user } = app.database.prisma
    const { tenantAppId, keyId: id } = tenant
    await user.create({ data: { tenantAppId, id, name: 'x', email: 'x@example.com' } })
    expect((await create({ userId: id })).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
    await user.deleteMany({ where: { tenantAppId, id } })
  })

  it('needs the scope tokens:create', async () => {
    const { errors } = await app.graphql(
      await keyFor(['users:read']),
      'mutation { createAccessToken(input: {}) { expiresAt } }',
    )
    expect(errors?.[0]).toMatchObject({
      message: 'This needs the scope tokens:create.',
      extensions: { code: 'FORBIDDEN' },
    })
  })

  it('is not combined with an idempotency key, because tokens are stored nowhere', async () => {
    const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'one' }
    const send = (query: string) => app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
    for (const query of [
      'mutation { createAccessToken(input: {}) { accessToken } }',
      'mutation { createAccessToken(input: {}) { userErrors { code } } }',
      'mutation { createApiKey(input: { name: "n" }) { key } }',
    ]) {
      const response = await send(query)
      expect([response.statusCode, response.json().errors[0].extensions.code]).toEqual([400, 'MALFORMED_REQUEST'])
    }
  })
})

describe('a token', () => {
  it('is accepted by both APIs, with its own scopes', async () => {
    const holder = withToken((await create({ scopes: ['users:read', 'contacts:read'] })).accessToken)
    expect((await app.rest(holder, 'GET', `/users/${rows.user.id}`)).json()).toMatchObject({ id: rows.user.id })
    expect((await app.rest(holder, 'GET', `/fusion/jobs/${rows.job.id}`)).statusCode).toBe(403)
    const { data } = await app.graphql(
      holder,
      '{ viewer { tenantApp { id name } keyName scopes user { id } } users { totalCount } }',
    )
    expect(data).toEqual({
      viewer: {
        tenantApp: { id: tenant.tenantAppId, name: 'Acme' },
        keyName: 'key of Acme',
        scopes: ['users:read', 'contacts:read'],
        user: null,
      },
      users: { totalCount: 1 },
    })
  })

  it('for a user shows the user, and what belongs to the user, with one statement', async () => {
    const holder = withToken((await create({ userId: rows.user.id })).accessToken)
    const query = '{ viewer { user { id accounts { id profile { id emails { id } } } } } }'
    let data: unknown
    const statements = await app.statementsOf(async () => {
      data = (await app.graphql(holder, query)).data
    })
    const profile = { id: rows.profile.id, emails: [{ id: rows.email.id }] }
    expect(data).toEqual({ viewer: { user: { id: rows.user.id, accounts: [{ id: rows.account.id, profile }] } } })
    expect(statements).toHaveLength(1)
  })

  it('is verified without the database', async () => {
    const caching = await app.startAnother({ keyCacheMilliseconds: 60_000 })
    const holder = withToken((await create({}, tenant, caching)).accessToken)
    const other = withToken((await create({ userId: rows.user.id }, tenant, caching)).accessToken)
    await caching.graphql(holder, '{ viewer { keyName } }')
    const lookups = caching.lookups()
    const statements = await caching.statementsOf(async () => {
      for (const each of [holder, other]) await caching.graphql(each, '{ viewer { keyName scopes } }')
      for (const sent of ['nonsense', await forge({ exp: 1 })]) await get(bearer(sent))
    })
    expect([statements, caching.lookups() - lookups]).toEqual([[], 0])
    await caching.close()
  })

  it('has no scope that its key has lost', async () => {
    const key = await keyFor(['tokens:create', 'users:read', 'jobs:read'])
    const holder = { ...key, token: (await create({}, key)).accessToken }
    await app.database.prisma.apiKey.updateMany({ where: { id: key.keyId }, data: { scopes: ['users:read'] } })
    expect((await app.graphql(holder, '{ viewer { scopes } }')).data).toEqual({ viewer: { scopes: ['users:read'] } })
  })

  it('that is not valid gets 401 with a challenge, and every reason the same response', async () => {
    const { accessToken } = await create({})
    const now = Math.floor(Date.now() / 1_000)
    const revoked = await keyFor(['tokens:create', 'users:read'])
    const ofRevokedKey = (await create({}, revoked)).accessToken
    await revokeKey(app.database, revoked.keyId)
    const [head, body, signature] = accessToken.split('.')
    const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${body}.`
    const tokens = [
      '',
      ' ',
      'nonsense',
      'a.b.c',
      `${head}.${body}.`,
      `${head}.${body}.${signature?.slice(1)}x`,
      unsigned,
      'x'.repeat(15_000),
      ofRevokedKey,
      await forge({ exp: now - 6 }),
      await forge({ iss: 'https://other.example' }),
      await forge({ aud: 'other' }),
      await forge({}, { typ: 'JWT' }),
      await forge({}, { kid: 'other' }),
      await forge({ nbf: now + 60 }),
      await forge({ exp: now + 86_410 }),
      await forge({ exp: undefined }),
      await forge({ client_id: undefined }),
      await forge({ client_id: 'key_other' }),
      await forge({ tenant_app_id: 'ten_other' }),
      await forge({ scope: undefined }),
      await new SignJWT({ iss: 'urn:fusion-gateway', aud: 'urn:fusion-gateway' })
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
        .setExpirationTime('1h')
        .sign(Buffer.alloc(32)),
    ]
    for (const url of ['/users?limit=1', '/graphql?query={viewer{keyName}}']) {
      const responses = await Promise.all(tokens.map((token) => get(bearer(token), url)))
      expect(responses.map(({ statusCode }) => statusCode)).toEqual(tokens.map(() => 401))
      for (const { headers } of responses) expect(headers['www-authenticate']).toBe('Bearer error="invalid_token"')
      const bodies = responses.map(({ body: text, headers }) => text.replaceAll(String(headers['x-request-id']), ''))
      expect(new Set(bodies).size).toBe(1)
      expect(bodies[0]).toContain('UNAUTHENTICATED')
    }
  })

  it('may be late by five seconds, because clocks differ', async () => {
    const now = Math.floor(Date.now() / 1_000)
    expect((await get(bearer(await forge({ exp: now - 2 })))).statusCode).toBe(200)
    expect((await get(bearer(await forge({ nbf: now + 4 })))).statusCode).toBe(200)
  })

  it('together with a key gets 400; another scheme is ignored', async () => {
    const { accessToken } = await create({})
    const response = await get({ ...bearer(accessToken), 'x-api-key': tenant.key })
    expect([response.statusCode, response.json().code]).toEqual([400, 'MALFORMED_REQUEST'])
    expect((await get({ authorization: 'Basic eDp5', 'x-api-key': tenant.key })).statusCode).toBe(200)
    expect((await get({ authorization: `bearer ${accessToken}` })).statusCode).toBe(200)
  })

  it('does not get the response that another token of the key has stored for an idempotency key', async () => {
    const query = 'mutation { updateUser(input: { id: "nobody" }) { user { id } userErrors { code } } }'
    const send = async (token: string) => {
      const headers = { ...bearer(token), 'idempotency-key': 'shared' }
      return app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
    }
    const scopes = ['users:write', 'users:read']
    const first = (await create({ scopes })).accessToken
    expect((await send(first)).headers['idempotent-replayed']).toBeUndefined()
    expect((await send(first)).headers['idempotent-replayed']).toBe('true')
    for (const input of [
      { scopes, userId: rows.user.id },
      { scopes: ['users:write', 'users:read', 'contacts:read'] },
    ]) {
      expect((await send((await create(input)).accessToken)).headers['idempotent-replayed']).toBeUndefined()
    }
  })
})

describe('the keys that verify', () => {
  it('are still known when they could not be read again', async () => {
    const { accessToken } = await create({})
    let isBroken = false
    const { sql: whole } = app.database
    const query: typeof whole.query = (...sent) =>
      isBroken ? Promise.reject(new Error('broken')) : whole.query(...sent)
    const sql = Object.assign(Object.create(whole), { query }) as typeof whole
    const keys = createSigningKeys({ sql }, app.keyRing)
    const kid = String(decodeProtectedHeader(accessToken).kid)
    expect(await keys.find(kid)).toBeDefined()
    isBroken = true
    await expect(keys.find('unknown')).rejects.toThrow('broken')
    expect(await keys.find(kid)).toBeDefined()
    isBroken = false
    expect(await keys.find('unknown')).toBeUndefined()
    expect(await keys.current()).toMatchObject({ kid })
  })

  it('are found at once after a rotation, also when unknown ones were asked for just before', async () => {
    const other = await app.startAnother({})
    expect((await get(bearer(await forge({}, { kid: 'unknown' })))).statusCode).toBe(401)
    const kid = await rotateSigningKey(app.database)
    let token = (await create({}, tenant, other)).accessToken
    while (decodeProtectedHeader(token).kid !== kid) token = (await create({}, tenant, other)).accessToken
    expect((await get(bearer(token))).statusCode).toBe(200)
    await other.close()
  })
})

describe('two gateways', () => {
  it('accept the tokens of each other, before and after a rotation', async () => {
    const other = await app.startAnother({})
    const first = (await create({})).accessToken
    const accepted = async (token: string) =>
      Promise.all(
        [app, other].map(async (gateway) => (await gateway.rest(withToken(token), 'GET', '/users?limit=1')).statusCode),
      )
    expect(await accepted(first)).toEqual([200, 200])
    const kid = await rotateSigningKey(app.database)
    let second = first
    // A gateway signs with the old key until it reads the new one.
    while (decodeProtectedHeader(second).kid !== kid) second = (await create({}, tenant, other)).accessToken
    expect(await accepted(second)).toEqual([200, 200])
    expect(await accepted(first)).toEqual([200, 200])
    expect((await app.app.inject({ url: '/.well-known/jwks.json' })).json<JSONWebKeySet>().keys.length).toBeGreaterThan(
      1,
    )
    await other.close()
  })

  it('create one signing key, which is removed when its tokens have expired', async () => {
    const { database } = app
    const old = await rotateSigningKey(database)
    await rotateSigningKey(database)
    expect(await createSigningKeys(database).find(old)).toBeDefined()
    await database.prisma.signingKey.updateMany({
      where: { retiredAt: { not: null } },
      data: { retiredAt: new Date(Date.now() - 26 * 3_600_000) },
    })
    expect(await createSigningKeys(database).find(old)).toBeUndefined()
    await rotateSigningKey(database)
    expect(await database.prisma.signingKey.count()).toBe(2)
    const stored = await database.prisma.signingKey.findMany({ where: { retiredAt: { not: null } } })
    expect(stored.map(({ privateKey }) => privateKey)).toEqual([null])
    await database.prisma.signingKey.deleteMany()
    await Promise.all([createSigningKeys(database).current(), createSigningKeys(database).current()])
    const agreed = await Promise.all([createSigningKeys(database).current(), createSigningKeys(database).current()])
    expect(agreed[0].kid).toBe(agreed[1].kid)
    await Promise.all([1, 2, 3].map(() => rotateSigningKey(database)))
    expect(await database.prisma.signingKey.count({ where: { retiredAt: null } })).toBe(1)
  })
})

describe('a stream', () => {
  it('of a token ends soon after its key was revoked, without an event', async () => {
    const gateway = await app.startAnother({ keyCacheMilliseconds: 300 })
    const address = await addressOf(gateway)
    const key = await keyFor(['tokens:create', 'jobs:read'])
    const { accessToken } = await create({}, key, gateway)
    const query = 'subscription { jobs { id } }'
    const streams = [await subscribe(address, bearer(accessToken), query), await subscribe(address, key.key, query)]
    for (const stream of streams) expect((await stream.next())?.data?.data).toBeDefined()
    await revokeKey(app.database, key.keyId)
    for (const stream of streams) {
      expect(await stream.next()).toMatchObject({ data: { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] } })
      expect(await stream.next()).toMatchObject({ event: 'complete' })
      expect(await stream.next()).toBeUndefined()
    }
    await gateway.close()
  })

  it('ends when its token expires', async () => {
    const token = await forge({ scope: 'jobs:read', exp: Math.floor(Date.now() / 1_000) - 3 })
    const stream = await subscribe(await addressOf(app), bearer(token), 'subscription { jobs { id } }')
    await stream.next()
    expect(await stream.next()).toMatchObject({ data: { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] } })
  })
})
