import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let source: string

interface Operation {
  readonly operationId: string
  readonly responses: Record<string, { content?: Record<string, { schema: unknown }> }>
  readonly requestBody?: { content: Record<string, { schema: Record<string, unknown> }> }
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
    expect(statuses).toEqual({
      createUser: '201 400 401 403 409 413 415 422 429 431 500 503',
      listUsers: '200 400 401 403 413 415 422 429 431 500 503',
      getUser: '200 400 401 403 404 413 415 429 431 500 503',
      updateUser: '200 400 401 403 404 409 413 415 422 429 431 500 503',
      getProfiles: '200 400 401 403 413 415 422 429 431 500 503',
      getJob: '200 400 401 403 404 413 415 429 431 500 503',
      getHealth: '200 400 413 415 431',
      getMetrics: '200 400 413 415 431',
      getReadiness: '200 400 413 415 431 503',
    })
  })

  it('describes which fields of an answer are required and which are nullable', () => {
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
    expect(bodyOf('/fusion/profiles', 'get')).toEqual({ type: 'array', items: { type: 'string' } })
  })

  it.each([
    ['GET', '/users?limit=x', undefined],
    ['GET', '/users/nobody', undefined],
    ['POST', '/users', []],
    ['PUT', '/users/nobody', { name: 'x' }],
    ['GET', '/fusion/profiles', undefined],
    ['GET', '/fusion/jobs/%ZZ', undefined],
  ])('documents the status and the media type of the answer to %s %s', async (method, url, body) => {
    const answer = await app.rest(tenant, method, url, body)
    const path = (url.split('?')[0] ?? '').replace(/\/(nobody|%ZZ)$/, '/{id}')
    const documented = paths[path]?.[method.toLowerCase()]?.responses[answer.statusCode]
    expect(Object.keys(documented?.content ?? {})).toEqual([String(answer.headers['content-type']).split(';')[0]])
  })
})
