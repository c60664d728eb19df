import type { InjectOptions } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let before: unknown

async function readRows() {
  const { prisma } = app.database
  return [await prisma.user.findMany(), await prisma.account.findMany(), await prisma.job.findMany()]
}

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await createOneOfEach(app, tenant)
  before = await readRows()
})
afterEach(async () => expect(await readRows()).toEqual(before))
afterAll(() => app.close())

const valid = { name: 'Ada', email: 'ada@example.com', phone: '1' }

function send(options: InjectOptions) {
  return app.app.inject({ ...options, headers: { 'x-api-key': tenant.key, ...options.headers } })
}

/** Sends a request, and expects a problem document of RFC 9457 with this status. */
async function expectProblem(status: number, options: InjectOptions) {
  const response = await send(options)
  expect(response.statusCode, response.body).toBe(status)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  const problem = response.json()
  expect(problem).toMatchObject({ status, request_id: response.headers['x-request-id'] })
  expect(problem.type).toMatch(/^urn:fusion-gateway:problem:[a-z-]+$/)
  for (const key of ['title', 'detail', 'instance', 'code']) expect(problem[key]).toBeTypeOf('string')
  expect('errors' in problem).toBe(status === 422)
  return { problem, response }
}

const json = { 'content-type': 'application/json' }

describe('a malformed request', () => {
  it.each([
    ['broken JSON', '{"name":'],
    ['an empty body with the JSON content type', ''],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ['JavaScript', "{name:'x'}"],
    ['arrays nested 20,000 deep', '['.repeat(20_000) + ']'.repeat(20_000)],
    ['a field nested 20,000 deep', `{"name":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('gets 400: %s', async (_name, payload) => {
    const { problem } = await expectProblem(400, { method: 'POST', url: '/users', headers: json, payload })
    expect(problem.code).toBe('MALFORMED_REQUEST')
  })

  it.each(['/users/%ZZ', '/users/%E0%A4%A', '/fusion/jobs/%', '/%c0%af'])(
    'gets 400: the path %s, which cannot be decoded',
    async (url) => {
      await expectProblem(400, { method: 'GET', url })
    },
  )
})

describe('a request for something missing', () => {
  it.each(['/nowhere', '/nowhere/', '/users/a/b', '/accounts', '/accounts/', '/fusion', '//users', '/users//'])(
    'gets 404 for the unknown path %s',
    async (url) => {
      await expectProblem(404, { method: 'GET', url })
    },
  )

  const advice = 'GraphQL is at /graphql, and /docs lists the routes of REST.'
  const streams =
    'Subscribe in the distinct connections mode of graphql-sse: POST /graphql with accept: text/event-stream. ' +
    'The single connection mode is not supported.'
  it.each([
    ['GET', '/nowhere', advice],
    ['PUT', '/nowhere/', advice],
    ['PUT', '/graphql/stream', streams],
    ['POST', '/graphql/stream', streams],
    ['GET', '/graphql/stream?token=a', streams],
  ] as const)('learns what to send instead: %s %s', async (method, url, text) => {
    const { problem } = await expectProblem(404, { method, url })
    expect(problem.detail).toBe(`There is no such route. ${text}`)
  })

  const ids = [
    'nobody',
    'x'.repeat(10_000),
    '%00',
    'a%00b',
    '..%2F..%2Fetc',
    '%F0%9F%98%80',
    '%25',
    "'%20OR%201=1--",
    ':id',
  ]

  it.each(ids.flatMap((id) => ['/users/', '/accounts/', '/fusion/jobs/'].map((path) => path + id)))(
    'gets 404 for the missing id %.40s',
    async (url) => {
      const { problem } = await expectProblem(404, { method: 'GET', url })
      expect(problem.detail).toBe('There is nothing with this id.')
    },
  )

  it('gets 404 for PUT with a missing id', async () => {
    for (const id of ids)
      await expectProblem(404, { method: 'PUT', url: `/users/${id}`, headers: json, payload: '{"name":"x"}' })
  })
})

describe('an unsupported method', () => {
  it.each([
    ['DELETE', '/users', 'GET, HEAD, POST'],
    ['PATCH', '/users/1', 'DELETE, GET, HEAD, PUT'],
    ['POST', '/users/1', 'DELETE, GET, HEAD, PUT'],
    ['DELETE', '/users/1/accounts', 'GET, HEAD, POST'],
    ['PUT', '/accounts/1', 'DELETE, GET, HEAD'],
    ['DELETE', '/accounts/1/profile', 'GET, HEAD, PUT'],
    ['GET', '/fusion/jobs/1/cancel', 'POST'],
    ['PUT', '/fusion/profiles', 'GET, HEAD, POST'],
    ['PUT', '/users/', 'GET, HEAD, POST'],
    ['DELETE', '/users/', 'GET, HEAD, POST'],
    ['DELETE', '/accounts/1/profile/', 'GET, HEAD, PUT'],
    ['PUT', '/fusion/jobs', 'GET, HEAD, POST'],
    ['POST', '/fusion/jobs/1', 'GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
    ['DELETE', '/openapi.json', 'GET, HEAD'],
    ['PROPFIND', '/users', 'GET, HEAD, POST'],
    ['OPTIONS', '/users', 'GET, HEAD, POST'],
    ['QUERY', '/users', 'GET, HEAD, POST'],
    ['QUERY', '/metrics', 'GET, HEAD'],
  ] as const)('gets 405 with the allowed methods: %s %s', async (method, url, allow) => {
    const { response } = await expectProblem(405, { method: method as 'GET', url })
    const allowed = String(response.headers['allow']).split(', ').sort().join(', ')
    expect(allowed).toBe(allow)
  })
})

describe('a large body', () => {
  it('of 10 MB gets 413', async () => {
    const payload = JSON.stringify({ ...valid, name: 'x'.repeat(10_000_000) })
    await expectProblem(413, { method: 'POST', url: '/users', headers: json, payload })
  })

  it('is accepted up to 1 MiB, and gets 413 with one more byte', async () => {
    const fill = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes - 8) })
    expect(Buffer.byteLength(fill(1_048_576))).toBe(1_048_576)
    await expectProblem(422, { method: 'POST', url: '/users', headers: json, payload: fill(1_048_576) })
    await expectProblem(413, { method: 'POST', url: '/users', headers: json, payload: fill(1_048_577) })
  })
})

describe('a body of an unsupported media type', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
    '',
  ])('gets 415: %j', async (type) => {
    const payload = JSON.stringify(valid)
    await expectProblem(415, { method: 'POST', url: '/users', headers: { 'content-type': type }, payload })
  })
})

describe('invalid input gets 422 with the names of all invalid fields', () => {
  it.each([
    ['[]', ['body']],
    ['"text"', ['body']],
    ['5', ['body']],
    ['null', ['body']],
    ['{}', ['email', 'name', 'phone']],
    ['{"name":5,"email":["a@b"],"phone":{}}', ['email', 'name', 'phone']],
    ['{"name":null,"email":null,"phone":null}', ['email', 'name', 'phone']],
    ['{"name":true,"email":"a@b","phone":"1"}', ['name']],
    ['{"name":"  ","email":"a@b","phone":"1"}', ['name']],
    [JSON.stringify({ ...valid, name: 'x'.repeat(201) }), ['name']],
    [JSON.stringify({ ...valid, email: 'ada' }), ['email']],
    [JSON.stringify({ ...valid, email: 'a da@b' }), ['email']],
    [JSON.stringify({ ...valid, email: '@b' }), ['email']],
    [JSON.stringify({ ...valid, email: `${'x'.repeat(319)}@b` }), ['email']],
    [JSON.stringify({ ...valid, phone: '' }), ['phone']],
    [JSON.stringify({ ...valid, phone: '1'.repeat(65) }), ['phone']],
    ['{"name":"a\\u0000b","email":"a@b","phone":"1"}', ['name']],
    ['{"name":"\\ud800","email":"a@\\udc00","phone":"\\u0000"}', ['name', 'email', 'phone']],
  ])('POST /users %.60s', async (payload, fields) => {
    const { problem } = await expectProblem(422, { method: 'POST', url: '/users', headers: json, payload })
    expect(problem.code).toBe('BAD_USER_INPUT')
    expect(problem.errors.map(({ field }: { field: string }) => field).sort()).toEqual([...fields].sort())
    for (const { message } of problem.errors) expect(problem.detail).toContain(message)
  })

  it.each([
    ['/users?limit=0', 'limit'],
    ['/users?limit=501', 'limit'],
    ['/users?limit=-1', 'limit'],
    ['/users?limit=1.5', 'limit'],
    ['/users?limit=ten', 'limit'],
    ['/users?limit=', 'limit'],
    ['/users?limit=99999999999999999999', 'limit'],
    ['/users?limit=1&limit=2', 'limit'],
    ['/users?cursor=nonsense', 'cursor'],
    ['/users?cursor=', 'cursor'],
    ['/users?cursor=a&cursor=b', 'cursor'],
    [`/users?cursor=${Buffer.from('1 a\0b').toString('base64url')}`, 'cursor'],
    [`/users?cursor=${Buffer.from('-999999999999999 a').toString('base64url')}`, 'cursor'],
    ['/fusion/profiles', 'account_ids'],
    ['/fusion/profiles?account_ids=%5B1%5D', 'account_ids[0]'],
    ['/fusion/profiles?account_ids=%5B%22a', 'account_ids'],
    [`/fusion/profiles?account_ids=${'a,'.repeat(501)}`, 'account_ids'],
  ])('GET %.60s', async (url, field) => {
    const { problem } = await expectProblem(422, { method: 'GET', url })
    expect(problem.errors.map((error: { field: string }) => error.field)).toEqual([field])
  })

  it.each([
    ['{"a":1}', 'body'],
    ['"acc"', 'body'],
    ['null', 'body'],
    ['["a",1]', 'body[1]'],
    [JSON.stringify(Array.from({ length: 501 }, (_, index) => `${index}`)), 'account_ids'],
  ])('GET /fusion/profiles with the body %.40s', async (payload, field) => {
    const { problem } = await expectProblem(422, { method: 'GET', url: '/fusion/profiles', headers: json, payload })
    expect(problem.errors.map((error: { field: string }) => error.field)).toEqual([field])
  })

  it('GET /fusion/profiles with ids in the body and in the query', async () => {
    await expectProblem(422, { method: 'GET', url: '/fusion/profiles?account_ids=a', headers: json, payload: '["b"]' })
  })
})

describe('input at its limit', () => {
  it('is measured in code points, not in UTF-16 units', async () => {
    const payload = JSON.stringify({ name: '𝒜'.repeat(201), email: 'a@b', phone: '1' })
    await expectProblem(422, { method: 'POST', url: '/users', headers: json, payload })
    const { id } = (
      await app.rest(tenant, 'POST', '/users', { ...valid, name: '𝒜'.repeat(200), phone: '1'.repeat(64) })
    ).json()
    expect((await app.rest(tenant, 'GET', `/users/${id}`)).json().name).toBe('𝒜'.repeat(200))
    await app.database.prisma.user.deleteMany({ where: { id } })
  })

  it('can have 500 account ids', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `${index}`)
    expect((await app.rest(tenant, 'GET', '/fusion/profiles', ids)).statusCode).toBe(200)
  })
})
