import {
  createSendAs,
  createTokenHandler,
  type TokenHandlerOptions,
  tokenDocument,
} from '@fusion-gateway/client/server'
import { createTokens } from '@fusion-gateway/client/tokens'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createKey, revokeKey } from '../../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../../../test/support/app.ts'
import { addressOf } from '../../../test/support/events.ts'
import { factoriesFor } from '../../../test/support/factories.ts'

let app: TestApp
let tenant: TestTenant
let url: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  url = `${await addressOf(app)}/graphql`
})
afterAll(() => app.close())

/** Asks a token backend. Returns the status, the body and the response. */
async function ask(options: Partial<TokenHandlerOptions> = {}) {
  const handle = createTokenHandler({ url, apiKey: tenant.key, inputFor: async () => ({}), ...options })
  const response = await handle(new Request('https://app.example.com/token', { method: 'POST' }))
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, body, response }
}

describe('the token backend', () => {
  it('answers with a token that sees what the person may see, and how long it lives', async () => {
    const create = factoriesFor(app, tenant)
    const [user] = [await create.user(), await create.user()]
    const { status, body, response } = await ask({
      inputFor: async () => ({ userId: user.id, scopes: ['users:read'] }),
    })
    expect([status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body['expiresInSeconds']).toBeGreaterThan(895)
    expect(body['expiresInSeconds']).toBeLessThanOrEqual(901)
    const token = String(body['accessToken'])
    const { data } = await app.graphql({ ...tenant, token }, '{ viewer { scopes user { id } } users { nodes { id } } }')
    expect(data).toEqual({
      viewer: { scopes: ['users:read'], user: { id: user.id } },
      users: { nodes: [{ id: user.id }] },
    })
  })

  it('answers 401 if nobody is signed in, and asks no gateway', async () => {
    const { status, body } = await ask({ inputFor: async () => undefined, url: 'http://127.0.0.1:9' })
    expect([status, body['code']]).toEqual([401, 'SIGNED_OUT'])
  })

  it('says that its key was revoked', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'backend' })
    await revokeKey(app.database, row.id)
    expect(await ask({ apiKey: key })).toMatchObject({ status: 500, body: { code: 'API_KEY_REJECTED' } })
  })

  it('says that its key lacks a scope, or that the input is wrong', async () => {
    const reading = { tenantAppId: tenant.tenantAppId, name: 'reading', scopes: ['users:read'] as const }
    const { key } = await createKey(app.database, reading)
    expect(await ask({ apiKey: key })).toMatchObject({ status: 500, body: { code: 'FORBIDDEN' } })
    const { status, body } = await ask({ inputFor: async () => ({ userId: 'usr_missing' }) })
    expect([status, body['code']]).toEqual([500, 'NOT_FOUND'])
    expect(body['message']).toMatch(/user/i)
  })

  it('says that the gateway does not trust its document, until it does', async () => {
    const trusted = { others: 'reject', byId: new Map([['token', tokenDocument]]), texts: new Set<string>() } as const
    const only = await app.startAnother({ trustedDocuments: trusted })
    onTestFinished(() => only.close())
    const own = { url: `${await addressOf(only)}/graphql` }
    expect(await ask(own)).toMatchObject({ status: 500, body: { code: 'DOCUMENT_NOT_TRUSTED' } })
    expect(await ask({ ...own, documentId: 'token' })).toMatchObject({ status: 200 })
  })

  it('passes on 429 and 503 with their Retry-After, and answers 503 if the gateway does not', async () => {
    const request = globalThis.fetch
    for (const status of [429, 503]) {
      vi.spyOn(globalThis, 'fetch').mockImplementationOnce(async () =>
        Response.json(
          { errors: [{ message: 'Later.', extensions: { code: 'RATE_LIMITED' } }] },
          { status, headers: { 'retry-after': '7' } },
        ),
      )
      const answered = await ask()
      expect(answered).toMatchObject({ status, body: { code: 'RATE_LIMITED', message: 'Later.' } })
      expect(answered.response.headers.get('retry-after')).toBe('7')
    }
    for (const status of [502, 504]) {
      vi.spyOn(globalThis, 'fetch').mockImplementationOnce(async () => new Response('<html>', { status }))
      expect(await ask()).toMatchObject({ status: 503, body: { code: 'GATEWAY_UNREACHABLE' } })
    }
    const page = new Response('<html>', { headers: { 'content-type': 'text/html' } })
    vi.spyOn(globalThis, 'fetch').mockImplementationOnce(async () => page)
    const answered = await ask()
    expect(answered).toMatchObject({ status: 500, body: { code: 'NO_TOKEN' } })
    expect(answered.body['message']).toBe(`${url} answered 200 (text/html) without a token.`)
    vi.restoreAllMocks()
    expect(globalThis.fetch).toBe(request)
    expect(await ask({ url: 'http://127.0.0.1:9' })).toMatchObject({
      status: 503,
      body: { code: 'GATEWAY_UNREACHABLE' },
    })
  })

  it('is what createTokens asks', async () => {
    const handle = createTokenHandler({ url, apiKey: tenant.key, inputFor: async () => ({ scopes: ['users:read'] }) })
    const token = createTokens({ fetchToken: () => handle(new Request('https://app.example.com/token')) })
    const { data } = await app.graphql({ ...tenant, token: await token() }, '{ viewer { scopes } }')
    expect(data).toEqual({ viewer: { scopes: ['users:read'] } })
  })
})

describe('a server that renders pages', () => {
  it('sees what each user sees, for two at once', async () => {
    const create = factoriesFor(app, tenant)
    const users = [await create.user(), await create.user()]
    const sends = users.map(({ id }) => createSendAs({ url, apiKey: tenant.key }, { userId: id }))
    const read = () => Promise.all(sends.map((send) => send('{ users { nodes { id } } }')))
    for (let round = 1; round <= 2; round += 1) {
      expect((await read()).map(({ data }) => data)).toEqual(users.map(({ id }) => ({ users: { nodes: [{ id }] } })))
    }
  })

  it('says why it may not', async () => {
    const send = createSendAs({ url, apiKey: tenant.key }, { userId: 'usr_missing' })
    await expect(send('{ viewer { keyName } }')).rejects.toMatchObject({ name: 'TokenError', code: 'NOT_FOUND' })
  })
})
