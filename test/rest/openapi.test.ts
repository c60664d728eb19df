import { brotliDecompressSync } from 'node:zlib'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { payloadOf } from '../../src/domain/webhook/delivery/payload.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let source: string

interface Schema {
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

interface Response {
  readonly content?: Record<string, { schema: unknown; example?: Record<string, unknown> }>
  readonly $ref?: string
}

interface Operation {
  readonly operationId: string
  readonly parameters?: { in: string; name: string; required: boolean; schema: Schema; example?: unknown }[]
  readonly responses: Record<string, Response>
  readonly requestBody?: {
    content: Record<string, { schema: Record<string, unknown>; example: Record<string, string> }>
  }
}
let paths: Record<string, Record<string, Operation>>
let responses: Record<string, Response>
let schemas: Record<string, { properties: Record<string, Record<string, unknown>>; required: string[] }>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const response = await app.app.inject({ url: '/openapi.json', headers: { host: 'gateway.test' } })
  expect(response.statusCode).toBe(200)
  source = response.body
  ;({
    paths,
    components: { schemas, responses },
  } = response.json())
})
afterAll(() => app.close())

describe('/openapi.json', () => {
  it('passes the strict rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
  })

  it('lists every status of each operation', () => {
    const statuses = Object.fromEntries(
      Object.values(paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId, responses }) => [
          operationId,
          Object.keys(responses).sort().join(' '),
        ]),
      ),
    )
    const read = '200 304 400 401 403'
    const rest = '408 413 415 417 429 431 500 503'
    const [one, list] = [`${read} 404 ${rest}`, `${read} 408 413 415 417 422 429 431 500 503`]
    const write = '200 400 401 403 404 408 409 413 415 417 422 429 431 500 503'
    const conditional = write.replace('409', '409 412')
    expect(statuses).toEqual({
      createUser: '201 400 401 403 408 409 413 415 417 422 429 431 500 503',
      updateUser: conditional,
      deleteUser: conditional.replace('200', '204'),
      listAccounts: one,
      linkAccount: write.replace('200', '201'),
      getAccount: one,
      unlinkAccount: conditional.replace('200', '204'),
      getProfile: one,
      getProfileHistory: list.replace('403', '403 404'),
      syncProfile: conditional,
      createJob: '201 400 401 403 408 409 413 415 417 422 429 431 500 503',
      listJobs: list,
      cancelJob: write,
      retryJob: write,
      listUsers: list,
      getProfiles: list,
      getProfilesByPost: list.replace('304 ', ''),
      getUser: one,
      getJob: one,
      getHealth: '200 400 408 413 415 417 431',
      getMetrics: '200 400 404 408 413 415 417 431 503',
      getReadiness: '200 400 408 413 415 417 431 503',
    })
  })

  it('has an example of each error', () => {
    const examples = Object.values(responses).map(({ content }) => content?.['application/problem+json']?.example)
    const statuses = [400, 401, 403, 404, 408, 409, 412, 413, 415, 417, 422, 429, 431, 500, 503]
    expect(examples.map((example) => example?.['status'])).toEqual(statuses)
    const { required } = schemas['Problem'] ?? { required: [] }
    for (const example of examples) expect(Object.keys(example ?? {})).toEqual(expect.arrayContaining(required))
  })

  it.each([
    [{ host: 'gateway.test:4000' }, 'http://gateway.test:4000'],
    [{ host: '[::1]:4000' }, 'http://[::1]:4000'],
    [{ host: 'gateway.test', 'x-forwarded-proto': 'https' }, 'https://gateway.test'],
    [
      { host: 'fusion', 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'gateway.test, proxy' },
      'https://gateway.test',
    ],
    [{ host: 'gateway.test', 'x-forwarded-proto': 'ftp' }, 'http://gateway.test'],
    [{ host: 'a/../b' }, '/'],
    [
      { host: 'gateway.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/Team/api' },
      'https://gateway.test/Team/api',
    ],
    [{ host: 'a/../b', 'x-forwarded-prefix': '/api' }, '/api'],
  ])('names the server as the client does: %j', async (headers, url) => {
    const response = await app.app.inject({ url: '/openapi.json', headers })
    expect(response.json().servers).toEqual([{ url, description: expect.any(String) }])
  })

  it('describes what webhooks send', async () => {
    const { webhooks } = JSON.parse(source)
    const { schema, example } = webhooks.event.post.requestBody.content['application/json']
    const sent = JSON.parse(payloadOf({ ...example.data, createdAt: example.data.createdAt }))
    expect(sent).toEqual(example)
    expect(schema.properties.type.enum).toContain(sent.type)
    expect(Object.keys(schema.properties.data.properties)).toEqual(Object.keys(sent.data))
  })

  it('is short, compressed, and sent again only if it has changed', async () => {
    const get = (headers: object, method: 'GET' | 'HEAD' = 'GET') =>
      app.app.inject({ method, url: '/openapi.json', headers: { host: 'gateway.test', ...headers } })
    expect(source.length).toBeLessThan(98_000)
    const compressed = await get({ 'accept-encoding': 'gzip, br' })
    expect(compressed.headers).toMatchObject({ 'content-encoding': 'br', 'cache-control': 'no-cache' })
    expect(compressed.headers['vary']).toContain('accept-encoding')
    expect(brotliDecompressSync(compressed.rawPayload).toString()).toBe(source)
    const { etag } = compressed.headers
    const again = await get({ 'if-none-match': etag })
    expect([again.statusCode, again.body, again.headers['content-type']]).toEqual([304, '', undefined])
    expect((await get({ 'if-none-match': etag, host: 'other.test' })).statusCode).toBe(200)
    const head = await get({}, 'HEAD')
    expect([head.statusCode, head.body, head.headers['etag']]).toEqual([200, '', etag])
  })

  it('has examples, except of what a visitor should not send by default', () => {
    for (const { get, post, put, delete: remove } of Object.values(paths)) {
      for (const operation of [get, post, put, remove]) {
        if (!operation?.parameters) continue
        for (const { name, example } of operation.parameters) {
          const isOfOneClient = [
            'idempotency-key',
            'if-match',
            'if-none-match',
            'prefer',
            'cursor',
            'external_id',
          ].includes(name)
          expect(example === undefined, name).toBe(isOfOneClient)
        }
        const response = operation.responses['200'] ?? operation.responses['201']
        for (const { content } of [response ?? {}, operation.requestBody ?? {}]) {
          for (const media of Object.values(content ?? {})) expect(media).toHaveProperty('example')
        }
      }
    }
  })

  it('has no operations for HEAD, which would double the operations of generated clients', () => {
    for (const methods of Object.values(paths)) expect(methods).not.toHaveProperty('head')
  })

  it('describes which fields of a response are required and which are nullable', () => {
    expect(Object.keys(schemas['User']?.properties ?? {})).toEqual([
      'id',
      'created_at',
      'updated_at',
      'name',
      'email',
      'phone',
      'external_id',
      'metadata',
      'tenant_app_id',
      'accounts',
    ])
    expect(schemas['User']?.required).toHaveLength(8)
    expect(schemas['User']?.required).not.toContain('external_id')
    expect(schemas['User']?.properties['phone']).toMatchObject({ type: ['string', 'null'] })
    expect(schemas['NewUser']?.required).not.toContain('accounts')
    expect(schemas['Profile']?.required).toEqual([
      'id',
      'user_platform',
      'platform_account_id',
      'emails',
      'phone_numbers',
      'addresses',
    ])
    expect(schemas['Profile']?.properties['date_of_birth']).toMatchObject({ pattern: '^\\d{4}:\\d{2}:\\d{2}$' })
    expect(schemas['Job']?.properties['status']).toMatchObject({
      enum: expect.arrayContaining(['pending', 'succeeded']),
    })
  })

  it('has no format but date-time, because the rules of emails and URLs are looser than their formats', () => {
    expect(new Set([...source.matchAll(/"format":"([^"]*)"/g)].map(([, format]) => format))).toEqual(
      new Set(['date-time']),
    )
  })

  it('describes the required fields of a body', () => {
    const bodyOf = (path: string, method: string) =>
      paths[path]?.[method]?.requestBody?.content['application/json']?.schema
    expect(bodyOf('/users', 'post')).toMatchObject({
      required: ['email', 'name', 'phone'],
      properties: { email: { pattern: '^[^\\s@]+@[^\\s@]+$' } },
    })
    expect(Object.keys(bodyOf('/users/{id}', 'put')?.['properties'] ?? {}).sort()).toEqual([
      'email',
      'external_id',
      'metadata',
      'name',
      'phone',
    ])
    expect(bodyOf('/fusion/profiles', 'get')).toMatchObject({ type: 'array', items: { type: 'string' } })
  })

  it.each([
    ['GET', '/users?limit=x', undefined],
    ['GET', '/users/nobody', undefined],
    ['POST', '/users', []],
    ['PUT', '/users/nobody', { name: 'x' }],
    ['GET', '/fusion/profiles', undefined],
    ['GET', '/fusion/jobs/%ZZ', undefined],
  ])('documents the status and the media type of the response to %s %s', async (method, url, body) => {
    const response = await app.rest(tenant, method, url, body)
    const path = (url.split('?')[0] ?? '').replace(/\/(nobody|%ZZ)$/, '/{id}')
    const { $ref = '' } = paths[path]?.[method.toLowerCase()]?.responses[response.statusCode] ?? {}
    const documented = responses[$ref.replace('#/components/responses/', '')]
    expect(Object.keys(documented?.content ?? {})).toEqual([String(response.headers['content-type']).split(';')[0]])
  })

  describe('has the bounds of the inputs', () => {
    /** Values just within and just beyond the bounds. */
    function valuesAround({ maxLength, pattern, minimum, maximum, maxItems }: Schema, example: unknown) {
      const within: unknown[] = []
      const beyond: unknown[] = []
      // A character of two UTF-16 units: lengths count characters.
      const text = (length: number) => String(example) + '𝒜'.repeat(length - String(example).length)
      if (maxLength !== undefined) within.push(text(maxLength)) && beyond.push(text(maxLength + 1), '')
      if (pattern !== undefined) beyond.push(' ')
      if (minimum !== undefined) within.push(minimum) && beyond.push(minimum - 1)
      if (maximum !== undefined) within.push(maximum) && beyond.push(maximum + 1)
      const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`)
      if (maxItems !== undefined) within.push(ids(maxItems)) && beyond.push(ids(maxItems + 1))
      expect(beyond.length).toBeGreaterThan(0)
      return { within, beyond }
    }

    it.each([
      ['/users', 'post'],
      ['/users/{id}', 'put'],
    ])('in the body of %s', async (path, method) => {
      const { id } = await factoriesFor(app, tenant).user()
      const { schema, example = {} } = paths[path]?.[method]?.requestBody?.content['application/json'] ?? {}
      const send = (field: string, value: unknown) =>
        app.rest(tenant, method.toUpperCase(), path.replace('{id}', id), { ...example, [field]: value })
      const fields = Object.entries((schema?.['properties'] ?? {}) as Record<string, Schema>)
      // An object has no keyword for its length in bytes: resources/external-ids.test.ts.
      const texts = fields.filter(([name]) => name !== 'metadata')
      expect(texts).toHaveLength(4)
      for (const [field, bounds] of texts) {
        expect(bounds.maxLength, field).toBeDefined()
        const { within, beyond } = valuesAround(bounds, example[field] ?? `a@${method}`)
        for (const value of within) expect((await send(field, value)).statusCode, field).toBeLessThan(300)
        for (const value of beyond) {
          const response = await send(field, value)
          expect(response.statusCode, `${field}: ${value}`).toBe(422)
          expect(response.json().errors[0].field).toBe(field)
        }
      }
    })

    it.each(['/users', '/fusion/profiles'])('in the query of %s', async (path) => {
      const parameters = (paths[path]?.['get']?.parameters ?? []).filter((parameter) => parameter.in === 'query')
      for (const { name, schema, example } of parameters) {
        const send = (value: unknown) =>
          app.rest(
            tenant,
            'GET',
            `${path}?${[value]
              .flat()
              .map((one) => `${name}=${encodeURIComponent(String(one))}`)
              .join('&')}`,
          )
        const { within, beyond } = valuesAround(schema, example)
        const examples = example === undefined ? [] : [example]
        for (const value of [...examples, ...within]) expect((await send(value)).statusCode, name).toBe(200)
        for (const value of beyond) {
          const response = await send(value)
          expect(response.statusCode, `${name}: ${value}`).toBe(422)
          expect(response.json().errors[0].field).toBe(name)
        }
      }
    })
  })
})
