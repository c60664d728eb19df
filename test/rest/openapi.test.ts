import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

interface Operation {
  readonly operationId: string
  readonly parameters?: { in: string; name: string; schema: Schema; example: unknown }[]
  readonly responses: Record<string, { content?: Record<string, { schema: unknown }> }>
  readonly requestBody?: {
    content: Record<string, { schema: Record<string, unknown>; example: Record<string, string> }>
  }
}
let paths: Record<string, Record<string, Operation>>
let schemas: Record<string, { properties: Record<string, Record<string, unknown>>; required: string[] }>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const answer = await app.app.inject({ url: '/openapi.json' })
  expect(answer.statusCode).toBe(200)
  source = answer.body
  ;({
    paths,
    components: { schemas },
  } = answer.json())
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
    const rest = '413 415 429 431 500 503'
    const [one, list] = [`${read} 404 ${rest}`, `${read} 413 415 422 429 431 500 503`]
    expect(statuses).toEqual({
      createUser: '201 400 401 403 409 413 415 422 429 431 500 503',
      updateUser: '200 400 401 403 404 409 413 415 422 429 431 500 503',
      ...{ listUsers: list, listUsersHeaders: list, getProfiles: list, getProfilesHeaders: list },
      ...{ getUser: one, getUserHeaders: one, getJob: one, getJobHeaders: one },
      ...{ getHealth: '200 400 413 415 431', getHealthHeaders: '200 400 413 415 431' },
      ...{ getMetrics: '200 400 413 415 431', getMetricsHeaders: '200 400 413 415 431' },
      ...{ getReadiness: '200 400 413 415 431 503', getReadinessHeaders: '200 400 413 415 431 503' },
    })
  })

  it('has an example of every parameter, body and response', () => {
    for (const { get, post, put } of Object.values(paths)) {
      for (const operation of [get, post, put]) {
        if (!operation?.parameters) continue
        for (const { name, example } of operation.parameters) expect(example, name).toBeDefined()
        const answer = operation.responses['200'] ?? operation.responses['201']
        for (const { content } of [answer ?? {}, operation.requestBody ?? {}]) {
          for (const media of Object.values(content ?? {})) expect(media).toHaveProperty('example')
        }
      }
    }
  })

  it('describes HEAD like GET, without bodies', () => {
    for (const { get, head } of Object.values(paths)) {
      if (!get) continue
      expect(head?.parameters).toEqual(get.parameters)
      for (const response of Object.values(head?.responses ?? {})) expect(response).not.toHaveProperty('content')
    }
  })

  it('describes which fields of a response are required and which are nullable', () => {
    expect(Object.keys(schemas['User']?.properties ?? {})).toEqual([
      ...['id', 'created_at', 'updated_at', 'name', 'email', 'phone', 'tenant_app_id', 'accounts'],
    ])
    expect(schemas['User']?.required).toHaveLength(8)
    expect(schemas['User']?.properties['phone']).toMatchObject({ type: ['string', 'null'] })
    expect(schemas['NewUser']?.required).not.toContain('accounts')
    expect(schemas['Profile']?.required).toEqual([
      ...['id', 'user_platform', 'platform_account_id', 'emails', 'phone_numbers', 'addresses'],
    ])
    expect(schemas['Profile']?.properties['date_of_birth']).toMatchObject({ pattern: '^\\d{4}:\\d{2}:\\d{2}$' })
    expect(schemas['Job']?.properties['status']).toMatchObject({
      enum: expect.arrayContaining(['pending', 'succeeded']),
    })
  })

  it('describes the required fields of a body', () => {
    const bodyOf = (path: string, method: string) =>
      paths[path]?.[method]?.requestBody?.content['application/json']?.schema
    expect(bodyOf('/users', 'post')).toMatchObject({ required: ['email', 'name', 'phone'] })
    expect(Object.keys(bodyOf('/users/{id}', 'put')?.['properties'] ?? {}).sort()).toEqual(['email', 'name', 'phone'])
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
    const answer = await app.rest(tenant, method, url, body)
    const path = (url.split('?')[0] ?? '').replace(/\/(nobody|%ZZ)$/, '/{id}')
    const documented = paths[path]?.[method.toLowerCase()]?.responses[answer.statusCode]
    expect(Object.keys(documented?.content ?? {})).toEqual([String(answer.headers['content-type']).split(';')[0]])
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
      expect(fields).toHaveLength(3)
      for (const [field, bounds] of fields) {
        expect(bounds.maxLength, field).toBeDefined()
        const { within, beyond } = valuesAround(bounds, example[field] ?? 'a@b')
        for (const value of within) expect((await send(field, value)).statusCode, field).toBeLessThan(300)
        for (const value of beyond) {
          const answer = await send(field, value)
          expect(answer.statusCode, `${field}: ${value}`).toBe(422)
          expect(answer.json().errors[0].field).toBe(field)
        }
      }
    })

    it.each(['/users', '/fusion/profiles'])('in the query of %s', async (path) => {
      const parameters = (paths[path]?.['get']?.parameters ?? []).filter((parameter) => parameter.in === 'query')
      for (const { name, schema, example } of parameters) {
        const send = (value: unknown) =>
          app.rest(tenant, 'GET', `${path}?${name}=${encodeURIComponent([value].flat().join(','))}`)
        const { within, beyond } = valuesAround(schema, example)
        for (const value of [example, ...within]) expect((await send(value)).statusCode, name).toBe(200)
        for (const value of beyond) {
          const answer = await send(value)
          expect(answer.statusCode, `${name}: ${value}`).toBe(422)
          expect(answer.json().errors[0].field).toBe(name)
        }
      }
    })
  })
})
