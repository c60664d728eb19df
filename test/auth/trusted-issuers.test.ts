import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { IssuerKeysOptions } from '@fusion-gateway/auth'
import { loadTrustedIssuers } from '@fusion-gateway/auth'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { userScopes } from '../../src/domain/scopes.ts'
import { deleteTenant } from '../../src/domain/tenant/delete-tenant.ts'
import { suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { readBlocks } from '../support/docs.ts'
import { createOneOfEach } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'

const { openTrustedIssuers } = await loadTrustedIssuers()

interface KeyPair {
  readonly alg: string
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly shown: JWK
}

let app: TestApp
let tenant: TestTenant
let mine: Awaited<ReturnType<typeof createOneOfEach>>
let other: Awaited<ReturnType<typeof createOneOfEach>>
/** A server of keys, which counts its requests. */
let server: Server
let keys: KeyPair[]
let requests = 0
let isBroken = false
/** Sends a body instead of the keys. */
let sendBody: ((response: ServerResponse) => void) | undefined
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-issuers-'))

async function createPair(alg: string, kid: string): Promise<KeyPair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, shown: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

const jwks = () => JSON.stringify({ keys: keys.map(({ shown }) => shown) })

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant('Acme')
  mine = await createOneOfEach(app, tenant)
  other = await createOneOfEach(app, tenant)
  keys = await Promise.all(['RS256', 'ES256', 'EdDSA'].map((alg) => createPair(alg, `key of ${alg}`)))
  server = createServer((_, response) => {
    requests += 1
    if (sendBody) return sendBody(response)
    response.writeHead(isBroken ? 500 : 200, { 'content-type': 'application/json' }).end(jwks())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  server.close()
  rmSync(folder, { recursive: true })
  await app.close()
})

const jwksUri = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`

const settings = (given: object = {}) => ({
  issuer: 'https://id.example',
  audience: 'https://api.example',
  tenant: 'Acme',
  userIdClaim: 'sub',
  scopes: ['users:read', 'profiles:read'],
  ...given,
})

let files = 0

function write(content: unknown): string {
  files += 1
  const file = path.join(folder, `${files}.json`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** What the clocks of gateways are ahead of the time. */
let ahead = 0

function open(list: unknown, options: Partial<IssuerKeysOptions> = {}) {
  const { log } = app.app
  return openTrustedIssuers(app.database, write(list), 'urn:fusion-gateway', {
    log,
    now: () => performance.now() + ahead,
    allowPrivateNetworks: true,
    userScopes,
    ...options,
  })
}

const startWith = async (list: unknown, options?: Partial<IssuerKeysOptions>) =>
  app.startAnother({ trustedIssuers: await open(list, options) })

const now = Math.floor(Date.now() / 1_000)

function sign({ alg, kid, privateKey }: KeyPair, claims: object = {}, header: object = {}): Promise<string> {
  const scope = 'users:read profiles:read'
  const standard = { iss: 'https://id.example', aud: 'https://api.example', iat: now, exp: now + 600, scope }
  return new SignJWT({ ...standard, sub: mine.user.id, ...claims })
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey)
}

const ask = async (
  gateway: TestApp,
  token: string,
  query = '{ viewer { keyName scopes user { id } } users { nodes { id } } }',
) => gateway.app.inject({ url: '/graphql', query: { query }, headers: { authorization: `Bearer ${token}` } })

describe.each(['jwksUri', 'jwksFile'] as const)('an issuer with %s', (kind) => {
  const source = () => (kind === 'jwksUri' ? { jwksUri: jwksUri() } : { jwksFile: path.basename(write(jwks())) })

  it('is trusted for its tokens of RS256, ES256 and EdDSA, which see one user', async () => {
    const gateway = await startWith([settings(source())])
    for (const pair of keys) {
      const response = (await ask(gateway, await sign(pair))).json()
      expect(response.data).toEqual({
        viewer: { keyName: 'https://id.example', scopes: ['users:read', 'profiles:read'], user: { id: mine.user.id } },
        users: { nodes: [{ id: mine.user.id }] },
      })
      const foreign = await ask(gateway, await sign(pair), `{ user(id: "${other.user.id}") { id } }`)
      expect(foreign.json().data).toEqual({ user: null })
    }
    await gateway.close()
  })

  it('is asked again for a key that is unknown', async () => {
    const from = source()
    const gateway = await startWith([settings(from)])
    expect((await ask(gateway, await sign(keys[0] as KeyPair))).statusCode).toBe(200)
    const next = await createPair('ES256', `next ${kind}`)
    keys.push(next)
    if (from.jwksFile) writeFileSync(path.join(folder, from.jwksFile), jwks())
    // The keys were read less than a second ago. They are read again when that second is over.
    const startedAt = performance.now()
    expect((await ask(gateway, await sign(next))).statusCode).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    const later = await createPair('ES256', `later ${kind}`)
    keys.push(later)
    if (from.jwksFile) writeFileSync(path.join(folder, from.jwksFile), jwks())
    ahead += 1_000
    expect((await ask(gateway, await sign(later))).statusCode).toBe(200)
    await gateway.close()
  })
})

describe('a token of a trusted issuer', () => {
  let gateway: TestApp
  let pair: KeyPair
  beforeAll(async () => {
    gateway = await startWith([settings({ jwksUri: jwksUri() })])
    pair = keys[1] as KeyPair
  })
  afterAll(() => gateway.close())

  it.each([
    ['without the claim', { sub: undefined }],
    ['with a claim that is no text', { sub: 5 }],
    ['with a claim that is no id', { sub: 'x'.repeat(129) }],
    ['without an expiry', { exp: undefined }],
    ['that has expired', { exp: 1 }],
    ['of another issuer', { iss: 'https://other.example' }],
    ['for another audience', { aud: 'https://other.example' }],
    ['that is not valid yet', { nbf: 9_999_999_999 }],
    ['that is valid for more than a day', { iat: now, exp: now + 86_401 }],
    ['that does not say since when it is valid for more than a day', { iat: undefined, exp: now + 2 * 86_400 }],
    ['that is valid for an hour in the far future', { iat: now + 86_400_000, exp: now + 86_403_600 }],
    ['that is valid for ever', { exp: Number.MAX_VALUE }],
    ['with a claim of scopes that is no text', { scope: { all: true } }],
    ['with a claim of scopes that is null', { scope: null }],
  ])('%s gets 401', async (_, claims) => {
    const response = await ask(gateway, await sign(pair, claims))
    expect([response.statusCode, response.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"'])
  })

  it('with another algorithm or the key of another gets 401', async () => {
    const weak = await createPair('RS512', 'weak')
    const stolen = { ...(await createPair('ES256', 'x')), kid: pair.kid }
    const tokens = [await sign(weak), await sign(stolen)]
    const byText = await new SignJWT({ iss: 'https://id.example', aud: 'https://api.example', sub: mine.user.id })
      .setProtectedHeader({ alg: 'HS256', kid: pair.kid })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(JSON.stringify(pair.shown)))
    for (const token of [...tokens, byText]) expect((await ask(gateway, token)).statusCode).toBe(401)
  })

  it('is valid for a day at most, if the issuer has no other maximum', async () => {
    const day = await sign(pair, { iat: now - 60, exp: now - 60 + 86_400 })
    expect((await ask(gateway, day)).statusCode).toBe(200)
    expect((await ask(gateway, await sign(pair, { iat: undefined, exp: now + 3_600 }))).statusCode).toBe(200)
    const strict = await startWith([settings({ jwksUri: jwksUri(), maxLifetimeSeconds: 3_600 })])
    const [hour, more] = [await sign(pair, { exp: now + 3_600 }), await sign(pair, { exp: now + 3_601 })]
    expect([(await ask(strict, hour)).statusCode, (await ask(strict, more)).statusCode]).toEqual([200, 401])
    await strict.close()
  })

  it.each([
    [undefined, 200],
    ['JWT', 200],
    ['at+jwt', 200],
    ['AT+JWT', 200],
    ['application/jwt', 200],
    ['application/at+jwt', 200],
    ['logout+jwt', 401],
    ['dpop+jwt', 401],
    ['secevent+jwt', 401],
    ['', 401],
  ])('of the type %j gets %i', async (typ, status) => {
    const token = await sign(pair, { jti: typ }, typ === undefined ? {} : { typ })
    expect((await ask(gateway, token)).statusCode).toBe(status)
  })

  const scopesOf = async (claims: object, at = gateway) =>
    (await ask(at, await sign(pair, { scope: undefined, ...claims }), '{ viewer { scopes } }')).json().data.viewer
      .scopes

  it('has the scopes that it names, as far as its issuer can grant them', async () => {
    expect(await scopesOf({ scope: 'openid users:read contacts:read' })).toEqual(['users:read'])
    expect(await scopesOf({ scope: ['openid', 'profiles:read', 'contacts:read'] })).toEqual(['profiles:read'])
    expect(await scopesOf({ scp: ['profiles:read', 'jobs:read'] })).toEqual(['profiles:read'])
    expect(await scopesOf({ scope: 'openid', scp: ['profiles:read'] })).toEqual([])
  })

  it.each([[{ scope: '' }], [{ scope: 'openid email' }], [{ scope: 'contacts:read' }], [{ scp: [] }], [{}]])(
    'that names no scope of its issuer is valid, and reads nothing: %j',
    async (claims) => {
      expect(await scopesOf(claims)).toEqual([])
      const token = await sign(pair, { scope: undefined, ...claims })
      const { data, errors } = (await ask(gateway, token, '{ viewer { user { id } } }')).json()
      expect([data, errors]).toMatchObject([{ viewer: { user: null } }, [{ extensions: { code: 'FORBIDDEN' } }]])
      const headers = { authorization: `Bearer ${token}` }
      expect((await gateway.app.inject({ url: '/users', headers })).statusCode).toBe(403)
    },
  )

  it('without a claim of scopes has the default scopes of its issuer', async () => {
    const generous = await startWith([settings({ jwksUri: jwksUri(), defaultScopes: ['profiles:read'] })])
    expect(await scopesOf({}, generous)).toEqual(['profiles:read'])
    expect(await scopesOf({ scope: 'users:read' }, generous)).toEqual(['users:read'])
    expect(await scopesOf({ scope: '' }, generous)).toEqual([])
    await generous.close()
  })

  it('of a user who does not exist sees nothing', async () => {
    expect((await ask(gateway, await sign(pair, { sub: 'nobody' }))).json().data).toMatchObject({
      viewer: { user: null },
      users: { nodes: [] },
    })
  })

  it('gets 403 while its tenant is suspended, and 401 when it is deleted', async () => {
    const { id } = await createTenant(app.database, 'Suspended')
    const trusted = await startWith([settings({ jwksUri: jwksUri(), tenant: id })])
    const token = await sign(pair, { sub: 'somebody' })
    expect((await ask(trusted, token)).statusCode).toBe(200)
    await suspendTenant(app.database, { id })
    const refused = await ask(trusted, token)
    expect([refused.statusCode, refused.json().errors[0].extensions]).toEqual([403, { code: 'TENANT_SUSPENDED' }])
    await deleteTenant(app.database, id, { onProgress: () => undefined })
    expect((await ask(trusted, token)).statusCode).toBe(401)
    await trusted.close()
  })

  it('with unknown keys does not make the gateway ask the issuer each time', async () => {
    await ask(gateway, await sign(pair))
    const before = requests
    const unknown = await createPair('ES256', 'unknown')
    for (let count = 0; count < 20; count += 1) expect((await ask(gateway, await sign(unknown))).statusCode).toBe(401)
    expect(requests - before).toBeLessThan(5)
    const many = Array.from({ length: 100 }, async (_, index) =>
      ask(gateway, await sign({ ...unknown, kid: `unknown ${index}` })),
    )
    // All but a few are refused at once, and one read is for those that wait.
    for (const { statusCode } of await Promise.all(many)) expect(statusCode).toBe(401)
    expect(requests - before).toBeLessThan(8)
  })

  it('gets 503 while the keys cannot be read, also if they are in a private network', async () => {
    const fresh = await startWith([settings({ jwksUri: jwksUri() })])
    isBroken = true
    const before503 = requests
    for (let count = 0; count < 20; count += 1) expect((await ask(fresh, await sign(pair))).statusCode).toBe(503)
    expect(requests - before503).toBeLessThan(20)
    isBroken = false
    expect((await ask(fresh, await sign(pair))).statusCode).toBe(503)
    ahead += 5_000
    expect((await ask(fresh, await sign(pair))).statusCode).toBe(200)
    // The keys that were read last are used while new ones cannot be read. Nobody knows the others.
    isBroken = true
    const unknown = await sign({ ...pair, kid: 'unknown' })
    ahead += 1_000
    expect((await ask(fresh, unknown)).statusCode).toBe(503)
    expect((await ask(fresh, unknown)).headers['retry-after']).toBe('5')
    expect((await ask(fresh, await sign(pair))).statusCode).toBe(200)
    isBroken = false
    ahead += 5_000
    expect((await ask(fresh, unknown)).statusCode).toBe(401)
    await fresh.close()
    const uri = jwksUri().replace('http:', 'https:')
    const guarded = await startWith([settings({ jwksUri: uri })], { allowPrivateNetworks: false })
    const before = requests
    expect((await ask(guarded, await sign(pair))).statusCode).toBe(503)
    expect(requests).toBe(before)
    expect(app.log).toContainEqual(
      expect.objectContaining({ msg: 'the keys of a trusted issuer could not be read', url: uri }),
    )
    await guarded.close()
  })
})

describe('a set of keys', () => {
  const encoded = (text: string) => Buffer.from(text).toString('base64url')

  /** Entries of which no token can be verified, and the algorithms of tokens that name them. */
  async function createBroken(): Promise<readonly (readonly [name: string, alg: string, entry: unknown])[]> {
    const [rsa, ec, okp] = keys.map(({ shown }) => shown)
    const { n } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
    const hidden = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
    return [
      ['a weak RSA key', 'RS256', { ...rsa, n }],
      ['an RSA key without its modulus', 'RS256', { ...rsa, n: undefined }],
      ['a modulus that is no text', 'RS256', { ...rsa, n: 5 }],
      ['an even exponent', 'RS256', { ...rsa, e: 'AA' }],
      ['a point off its curve', 'ES256', { ...ec, y: ec?.x }],
      ['a coordinate of another length', 'ES256', { ...ec, x: 'AQ' }],
      ['a private key', 'ES256', hidden],
      ['a key of another curve', 'EdDSA', { ...okp, crv: 'Ed448' }],
      ['a short key', 'EdDSA', { ...okp, x: 'AQ' }],
      ['operations that are no list', 'ES256', { ...ec, key_ops: 'verify' }],
      ['no type', 'ES256', { ...ec, kty: undefined }],
    ]
  }

  it.each(['jwksUri', 'jwksFile'] as const)('of %s in which entries are broken is read without them', async (kind) => {
    const broken = await createBroken()
    const entries = broken.map(([name, , entry]) => ({ ...(entry as object), kid: name }))
    const body = JSON.stringify({ keys: [null, 'text', 5, [], {}, ...entries, ...keys.map(({ shown }) => shown)] })
    sendBody = (response) => response.end(body)
    const gateway = await startWith([settings(kind === 'jwksUri' ? { jwksUri: jwksUri() } : { jwksFile: write(body) })])
    const signer = keys[1] as KeyPair
    const [, claims, signature] = (await sign(signer)).split('.')
    const before = requests
    // At the same time, because each waits until the keys may be read again.
    const statuses = broken.map(async ([name, alg]) => {
      const token = `${encoded(JSON.stringify({ alg, kid: name }))}.${claims}.${signature}`
      return [name, (await ask(gateway, token)).statusCode]
    })
    expect(await Promise.all(statuses)).toEqual(broken.map(([name]) => [name, 401]))
    for (const pair of keys) expect((await ask(gateway, await sign(pair))).statusCode).toBe(200)
    expect(requests - before).toBeLessThan(broken.length)
    expect(app.log).toContainEqual(
      expect.objectContaining({ keys: expect.arrayContaining(['a weak RSA key', 'a point off its curve']) }),
    )
    await gateway.close()
    sendBody = undefined
  })

  it('in a file that cannot be read when a token has a new key is SERVICE_UNAVAILABLE', async () => {
    const jwksFile = write(jwks())
    const gateway = await startWith([settings({ jwksFile })])
    const unknown = await sign({ ...(keys[1] as KeyPair), kid: 'later' })
    rmSync(jwksFile)
    ahead += 1_000
    expect((await ask(gateway, unknown)).statusCode).toBe(503)
    expect((await ask(gateway, unknown)).headers['retry-after']).toBe('5')
    expect((await ask(gateway, await sign(keys[1] as KeyPair))).statusCode).toBe(200)
    writeFileSync(jwksFile, jwks())
    // The pause after a file could not be read.
    ahead += 1_000
    expect((await ask(gateway, unknown)).statusCode).toBe(401)
    await gateway.close()
  })
})

describe('keys without end', () => {
  const endless = (stream: Writable) => {
    let sent = 0
    const write = () => {
      sent += chunk.length
      stream.write(chunk)
    }
    stream.on('drain', write).on('error', () => undefined)
    write()
    return () => sent
  }
  const chunk = Buffer.alloc(65_536, ' ')
  afterEach(() => {
    sendBody = undefined
  })

  it('are not read: the token gets 503, and the connection is closed', async () => {
    const gateway = await startWith([settings({ jwksUri: jwksUri() })])
    let sent = () => 0
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    sendBody = (response) => {
      response.on('close', resolve)
      sent = endless(response.writeHead(200))
    }
    expect((await ask(gateway, await sign(keys[0] as KeyPair))).statusCode).toBe(503)
    await closed
    // What the sockets hold, besides what was read.
    expect(sent()).toBeLessThan(32 * 1024 * 1024)
    await gateway.close()
  })

  it('are not read, however well they are compressed', async () => {
    const gateway = await startWith([settings({ jwksUri: jwksUri() })])
    const body = gzipSync(Buffer.alloc(8 * 1024 * 1024, ' '))
    sendBody = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
    expect((await ask(gateway, await sign(keys[0] as KeyPair))).statusCode).toBe(503)
    expect(app.log).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: 'The keys are longer than 1 MiB' }) }),
    )
    await gateway.close()
  })

  it('are not read from a file or a device', async () => {
    for (const jwksFile of [write(jwks().padEnd(1024 * 1024 + 1)), '/dev/zero']) {
      await expect(open([settings({ jwksFile })])).rejects.toThrow('cannot be read: it is longer than 1 MiB')
    }
    expect(await open([settings({ jwksFile: write(jwks().padEnd(1024 * 1024)) })])).toHaveLength(1)
  })
})

describe('TRUSTED_ISSUERS', () => {
  const keyed = { jwksUri: 'https://id.example/keys' }
  it.each([
    ['no JSON', '{', /cannot be read/],
    ['no list', {}, /the file/],
    ['an unknown key', [settings({ ...keyed, audiance: 'x' })], /0 .*audiance/],
    ['no tenant', [settings({ ...keyed, tenant: undefined })], /0\.tenant/],
    ['an unknown tenant', [settings({ ...keyed, tenant: 'Nobody' })], /no tenant has the name or the id Nobody/],
    ['no keys', [settings()], /needs jwksUri or jwksFile/],
    ['both keys', [settings({ ...keyed, jwksFile: 'x' })], /needs jwksUri or jwksFile/],
    ['a file that does not exist', [settings({ jwksFile: 'none.json' })], /none\.json cannot be read/],
    ['a scope for servers', [settings({ ...keyed, scopes: ['jobs:read'] })], /0\.scopes\.0 must be one of users:read/],
    [
      'default scopes beyond the scopes',
      [settings({ ...keyed, defaultScopes: ['contacts:read'] })],
      /0 has defaultScopes/,
    ],
    ['a lifetime of years', [settings({ ...keyed, maxLifetimeSeconds: 1e8 })], /0\.maxLifetimeSeconds/],
    ['http in a public network', [settings({ jwksUri: 'http://id.example/keys' })], /must be https/],
    ['the same issuer twice', [settings(keyed), settings({ ...keyed, tenant: 'x' })], /is listed twice/],
    ['the gateway itself', [settings({ ...keyed, issuer: 'urn:fusion-gateway' })], /is the gateway itself/],
  ])('with %s is rejected with a message that says so', async (_, list, message) => {
    await expect(open(list, { allowPrivateNetworks: false })).rejects.toThrow(message)
  })

  it('is read as docs/configuration.md shows it', async () => {
    const [block] = readBlocks('docs/configuration.md').filter(({ language }) => language === 'json')
    expect(await open(JSON.parse(block?.code ?? ''), { allowPrivateNetworks: false })).toMatchObject([
      { issuer: 'https://id.example.com/', audience: 'https://api.example.com' },
    ])
  })

  it('takes the id of a tenant too', async () => {
    expect(await open([settings({ ...keyed, tenant: tenant.tenantAppId })])).toHaveLength(1)
  })
})

describe('a write with a token of an issuer', () => {
  const rename = 'mutation ($id: ID!) { updateUser(input: { id: $id, name: "Renamed" }) { user { id } } }'

  it('is noted in the event log with the name that usage shows for the issuer, and with the id of its request', async () => {
    const scopes = ['users:read', 'users:write', 'events:read']
    const gateway = await startWith([settings({ jwksUri: jwksUri(), scopes })])
    const token = await sign(keys[0] as KeyPair, { scope: scopes.join(' ') })
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'request-1' }
    const payload = { query: rename, variables: { id: mine.user.id } }
    const { body } = await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload })
    expect(body).toContain(mine.user.id)
    await gateway.close()
    const written = await app.database.prisma.event.findMany({ where: { requestId: 'request-1' } })
    expect(written).toMatchObject([{ keyId: `https://id.example ${tenant.tenantAppId}`, type: 'USER_UPDATED' }])
  })

  // It runs a script, which Citus does not take.
  it.skipIf(isDistributed)('is corrected by a migration if the tenant was noted as its request', async () => {
    const { prisma, runAsOwner } = app.database
    const { tenantAppId } = tenant
    const event = (name: string, keyId: string, requestId: string) =>
      prisma.event.create({
        data: { tenantAppId, id: `evt_${name}`, type: 'USER_UPDATED', resourceId: name, keyId, requestId },
      })
    await event('wrong', 'https://id.example', tenantAppId)
    await event('of a key', 'key_1', tenantAppId)
    await event('of a request', 'https://id.example t', 'request-2')
    await runAsOwner(readFileSync('prisma/migrations/20261126221000_actors_with_spaces/migration.sql', 'utf8'))
    const names = ['wrong', 'of a key', 'of a request']
    const events = await prisma.event.findMany({ where: { resourceId: { in: names } }, orderBy: { resourceId: 'asc' } })
    expect(events.map(({ keyId, requestId }) => [keyId, requestId])).toEqual([
      ['key_1', tenantAppId],
      ['https://id.example t', 'request-2'],
      [`https://id.example ${tenantAppId}`, null],
    ])
  })
})
