import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { bodyOf, idFor } from '../support/route-requests.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 1024 * 1024 })
  tenant = await app.createTenant()
})
beforeEach(async () => {
  rows = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

type Headers = Record<string, string>

const send = (method: string, url: string, headers: Headers = {}, payload?: object, { key } = tenant) =>
  app.app.inject({
    method: method as 'PUT',
    url,
    headers: { 'x-api-key': key, ...headers },
    ...(payload !== undefined && { payload }),
  })

const get = (url: string, headers: Headers = {}) => send('GET', url, headers)
const put = (url: string, condition: string, payload: object) => send('PUT', url, { 'if-match': condition }, payload)

async function tagOf(url: string, headers: Headers = {}): Promise<string> {
  const response = await get(url, headers)
  expect(response.statusCode).toBe(200)
  return String(response.headers['etag'])
}

const problem = { type: 'urn:fusion-gateway:problem:precondition-failed', status: 412, code: 'PRECONDITION_FAILED' }

/** The resources whose writes take the header: a change, and another one that makes another response. */
const resources = {
  '/users/:id': {
    url: () => `/users/${rows.user.id}`,
    change: (name: string) => ({ name }),
    changed: (name: string) => ({ name }),
  },
  '/accounts/:id/profile': {
    url: () => `/accounts/${rows.account.id}/profile`,
    change: (name: string) => ({ username: name, emails: [{ value: `${name}@example.com` }] }),
    changed: (name: string) => ({ username: name, emails: [{ value: `${name}@example.com` }] }),
  },
}

describe.each(Object.entries(resources))('PUT %s', (_name, { url, change, changed }) => {
  it('writes with the ETag of GET, which is strong, and with that of the next GET', async () => {
    const first = await tagOf(url())
    expect(first).toMatch(/^"[\w-]{43}"$/)
    const response = await put(url(), first, change('one'))
    expect([response.statusCode, response.json()]).toMatchObject([200, changed('one')])
    expect((await put(url(), await tagOf(url()), change('two'))).statusCode).toBe(200)
  })

  it('is 412 with the ETag of an earlier response, and writes nothing', async () => {
    const tag = await tagOf(url())
    await send('PUT', url(), {}, change('one'))
    const { body } = await get(url())
    const response = await put(url(), tag, change('two'))
    expect(response.headers['content-type']).toContain('application/problem+json')
    expect(response.json()).toMatchObject(problem)
    expect((await get(url())).body).toBe(body)
  })

  it('lets exactly one of several clients write that have the same response', async () => {
    const tag = await tagOf(url())
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, number) => put(url(), tag, change(`name-${number}`))),
    )
    expect(responses.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, ...Array(7).fill(412)])
    const winner = responses.find(({ statusCode }) => statusCode === 200)
    expect((await get(url())).body).toBe(winner?.body)
  })

  it('is 412 if another client writes after the ETag was compared, and before the write', async () => {
    const tag = await tagOf(url())
    const { driver, prisma } = app.database
    let writes = 0
    const writeBefore = async () => {
      writes += 1
      if (writes > 1) return
      const data = { updatedAt: new Date(Date.now() + 1_000) }
      await prisma.user.updateMany({ where: { tenantAppId: tenant.tenantAppId, id: rows.user.id }, data })
      await prisma.profile.updateMany({ where: { tenantAppId: tenant.tenantAppId, id: rows.profile.id }, data })
    }
    const node = driver.nodeOf?.(tenant.tenantAppId)
    const spies = [driver, ...(node ? [node] : [])].flatMap((server) => {
      const [send, begin] = [server.send.bind(server), server.begin.bind(server)]
      return [
        vi.spyOn(server, 'send').mockImplementation(async (statement, parameters) => {
          if (statement.text.startsWith('UPDATE')) await writeBefore()
          return send(statement, parameters)
        }),
        vi.spyOn(server, 'begin').mockImplementation(async () => {
          await writeBefore()
          return begin()
        }),
      ]
    })
    const response = await put(url(), tag, change('late'))
    for (const spy of spies) spy.mockRestore()
    expect(writes).toBe(1)
    expect(response.json()).toMatchObject(problem)
    expect((await get(url())).json()).not.toMatchObject(changed('late'))
  })

  it('takes the ETag of HEAD, of a compressed response, and of one from the memory', async () => {
    const long = 'x'.repeat(190)
    for (let number = 0; number < 10; number += 1) {
      await factoriesFor(app, tenant).account(rows.user.id, { displayName: long })
      await factoriesFor(app, tenant).email(rows.profile.id, { value: `${long}${number}@example.com` })
    }
    const plain = await tagOf(url())
    for (const encoding of ['br', 'gzip']) {
      const response = await get(url(), { 'accept-encoding': encoding })
      expect(response.headers).toMatchObject({
        'content-encoding': encoding,
        etag: plain.replace(/"$/, `.${encoding}"`),
      })
    }
    const reads: (() => Promise<string>)[] = [
      async () => String((await send('HEAD', url())).headers['etag']),
      () => tagOf(url(), { 'accept-encoding': 'br' }),
      () => tagOf(url(), { 'accept-encoding': 'gzip' }),
      async () => {
        const kept = [await get(url()), await get(url()), await get(url())].at(-1)
        expect(kept?.headers['cache-status']).toBe('fusion; hit')
        return String(kept?.headers['etag'])
      },
      async () => {
        const compressed = await tagOf(url(), { 'accept-encoding': 'br' })
        const known = await get(url(), { 'accept-encoding': 'br', 'if-none-match': compressed })
        expect([known.statusCode, known.headers['etag']]).toEqual([304, compressed])
        return String(known.headers['etag'])
      },
    ]
    for (const [number, read] of reads.entries()) {
      const tag = await read()
      expect([number, (await put(url(), tag, change(`read-${number}`))).statusCode]).toEqual([number, 200])
      expect([number, (await put(url(), tag, change('late'))).statusCode]).toEqual([number, 412])
    }
  })

  it.each([
    ['all tags', () => '*', 200],
    ['one of several tags', (tag: string) => `"a,b", ${tag} , W/"c"`, 200],
    ['the weak tag', (tag: string) => `W/${tag}`, 412],
    ['another tag', () => '"another"', 412],
    ['the tag with another end', (tag: string) => tag.replace(/"$/, '.zip"'), 412],
    ['the tag without quotation marks', (tag: string) => tag.slice(1, -1), 412],
    ['nothing', () => '', 412],
  ])('with %s', async (_case, toHeader, status) => {
    const tag = await tagOf(url())
    expect((await put(url(), toHeader(tag), change('one'))).statusCode).toBe(status)
  })

  it('costs the points of the GET too', async () => {
    const costOf = (response: { headers: Record<string, unknown> }) => Number(response.headers['x-cost-requested'])
    const read = await get(url())
    const alone = await send('PUT', url(), {}, change('one'))
    expect(costOf(await put(url(), '*', change('two')))).toBe(costOf(alone) + costOf(read))
  })

  it('with an idempotency key, repeats the first response, and counts the header as a part of the request', async () => {
    const repeat = async (key: string, tag: string) => {
      const response = await send('PUT', url(), { 'if-match': tag, 'idempotency-key': key }, change('once'))
      const { request_id: _, instance: __, ...body } = response.json()
      return { status: response.statusCode, body, replayed: response.headers['idempotent-replayed'] }
    }
    const [one, other] = [`${url()} 1`.replaceAll(' ', '-'), `${url()} 2`.replaceAll(' ', '-')]
    const tag = await tagOf(url())
    const written = await repeat(one, tag)
    expect(written).toMatchObject({ status: 200, body: changed('once'), replayed: undefined })
    expect(await repeat(one, tag)).toEqual({ ...written, replayed: 'true' })
    const refused = await repeat(other, tag)
    expect(refused).toMatchObject({ status: 412, body: problem, replayed: undefined })
    expect(await repeat(other, tag)).toEqual({ ...refused, replayed: 'true' })
    expect(await repeat(other, await tagOf(url()))).toMatchObject({ status: 422 })
  })

  it('does not read expected_updated_at in the body, which REST has not', async () => {
    const response = await send('PUT', url(), {}, { ...change('one'), expected_updated_at: '2020-01-01T00:00:00.000Z' })
    expect([response.statusCode, response.json()]).toMatchObject([200, changed('one')])
  })
})

it('GET /accounts/{id}/profile is 404 for an account without a profile', async () => {
  const account = await factoriesFor(app, tenant).account(rows.user.id)
  expect((await get(`/accounts/${account.id}/profile`)).statusCode).toBe(404)
})

it('the user is another one for If-Match if an account of it has changed', async () => {
  const url = `/users/${rows.user.id}`
  const tag = await tagOf(url)
  const mutation =
    'mutation ($id: ID!) { updateAccount(input: { id: $id, displayName: "New" }) { userErrors { code } } }'
  await app.graphql(tenant, mutation, { id: rows.account.id })
  expect((await put(url, tag, { name: 'Late' })).statusCode).toBe(412)
})

describe.each([
  ['DELETE /users/{id}', () => `/users/${rows.user.id}`, ['users:read', 'contacts:read']],
  ['DELETE /accounts/{id}', () => `/accounts/${rows.account.id}`, ['users:read']],
])('%s', (_name, url, scopes) => {
  it('is 412 with the ETag of an earlier response, and 204 with the last one', async () => {
    const tag = await tagOf(url())
    const { prisma } = app.database
    const data = { updatedAt: new Date(Date.now() + 1_000) }
    const { tenantAppId } = tenant
    await prisma.user.update({ where: { tenantAppId_id: { tenantAppId, id: rows.user.id } }, data })
    await prisma.account.updateMany({ where: { tenantAppId, id: rows.account.id }, data })
    const refused = await send('DELETE', url(), { 'if-match': tag })
    expect([refused.statusCode, refused.json()]).toMatchObject([412, problem])
    expect((await send('DELETE', url(), { 'if-match': await tagOf(url()) })).statusCode).toBe(204)
    expect((await send('DELETE', url(), { 'if-match': '*' })).statusCode).toBe(404)
  })

  it('needs the scopes of GET: 403 says what the resource is to nobody else', async () => {
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: 'writer', scopes: ['users:write'] })
    for (const condition of ['*', '"x"', await tagOf(url())]) {
      const response = await send('DELETE', url(), { 'if-match': condition }, undefined, { ...tenant, key })
      expect(response.json()).toMatchObject({ code: 'FORBIDDEN', detail: `This needs the scope ${scopes[0]}.` })
    }
    expect((await send('DELETE', url(), {}, undefined, { ...tenant, key })).statusCode).toBe(204)
  })
})

it('a resource that is missing, or of another tenant, is 404, and a profile that is not there yet is 412', async () => {
  const other = await app.createTenant()
  const ofOther = await createOneOfEach(app, other)
  const account = await factoriesFor(app, tenant).account(rows.user.id)
  for (const condition of ['*', '"x"']) {
    for (const id of ['nobody', ofOther.user.id]) {
      expect((await put(`/users/${id}`, condition, { name: 'Ada' })).statusCode).toBe(404)
    }
    for (const id of ['nobody', ofOther.account.id]) {
      expect((await put(`/accounts/${id}/profile`, condition, { username: 'ada' })).statusCode).toBe(404)
    }
    const response = await put(`/accounts/${account.id}/profile`, condition, { username: 'ada' })
    expect(response.json()).toMatchObject(problem)
  }
  expect(await app.database.prisma.profile.count({ where: { accountId: account.id } })).toBe(0)
})

const takesHeader = ['PUT /users/:id', 'DELETE /users/:id', 'DELETE /accounts/:id', 'PUT /accounts/:id/profile']
const others = routes
  .filter(({ method, url }) => method !== 'GET' && !takesHeader.includes(`${method} ${url}`))
  .map((route) => [`${route.method} ${route.url}`, route] as const)

it.each(others)('%s refuses the header, because it has nothing to compare', async (_name, route) => {
  const url = route.url.replace(':id', idFor(route, rows))
  const response = await send(route.method, url, { 'if-match': '*' }, bodyOf(route))
  expect([response.statusCode, response.json().code]).toEqual([400, 'MALFORMED_REQUEST'])
})

it('without the header, a PUT sends the statements that it sent before; with it, one more', async () => {
  const url = `/users/${rows.user.id}`
  expect(await app.statementsOf(() => send('PUT', url, {}, { name: 'one' }))).toHaveLength(2)
  expect(await app.statementsOf(() => put(url, '*', { name: 'two' }))).toHaveLength(3)
})
