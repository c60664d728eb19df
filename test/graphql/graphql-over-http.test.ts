import { getIntrospectionQuery } from 'graphql'
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let url: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  url = `${await app.app.listen({ port: 0 })}/graphql`
})
afterAll(() => app.close())

function send(init: RequestInit & { search?: string } = {}) {
  const { search = '', headers, ...rest } = init
  return fetch(url + search, { ...rest, headers: { 'x-api-key': tenant.key, ...headers } })
}

describe('GraphQL over HTTP', () => {
  const audits = serverAudits({
    url: () => url,
    fetchFn: (target: string, init: RequestInit = {}) =>
      fetch(target, { ...init, headers: { ...(init.headers as Record<string, string>), 'x-api-key': tenant.key } }),
  })

  it.each(audits.map((audit) => [audit.name, audit] as const))('%s', async (_name, audit) => {
    const result = await audit.fn()
    // A notice is an optional requirement (MAY).
    expect(['ok', 'notice'], 'reason' in result ? result.reason : undefined).toContain(result.status)
  })
})

describe('/graphql', () => {
  const json = { 'content-type': 'application/json' }
  const post = (body: string, headers: Record<string, string> = json) => send({ method: 'POST', body, headers })

  it.each([
    ['urlencoded', 'application/x-www-form-urlencoded', 'query=%7B__typename%7D'],
    [
      'multipart',
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n{}\r\n--x--',
    ],
    ['text', 'text/plain', '{"query":"{__typename}"}'],
    ['bare GraphQL', 'application/graphql', '{__typename}'],
  ])('answers 415 to a body of %s', async (_name, type, body) => {
    const response = await post(body, { 'content-type': type })
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'UNSUPPORTED_MEDIA_TYPE' } }] })
  })

  it.each(['', '{', '[]', '{}', '5', 'null', '"x"', '{"query":5}', '{"query":"{__typename}","variables":[]}'])(
    'answers 400 to the body %j',
    async (body) => {
      const response = await send({
        method: 'POST',
        body,
        headers: { ...json, accept: 'application/graphql-response+json' },
      })
      expect(response.status).toBe(400)
      const { errors } = (await response.json()) as { errors: { message: string; extensions: object }[] }
      expect(errors[0]?.message).not.toMatch(/unexpected|token|stack/i)
      expect(Object.keys(errors[0]?.extensions ?? {})).toEqual(['code'])
    },
  )

  it.each([
    '?variables={',
    '?query={__typename}&variables={',
    '?query={__typename}&query={a}',
    '?query={__typename}&extensions=5',
  ])('answers 400 to GET %s', async (search) =>
    expect((await send({ search, headers: { accept: 'application/graphql-response+json' } })).status).toBe(400),
  )

  it('answers 405 to a mutation by GET and writes nothing', async () => {
    const search = `?query=${encodeURIComponent('mutation{createUser(input:{name:"a",email:"a@b",phone:"1"}){user{id}}}')}`
    const response = await send({ search })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toContain('POST')
    expect(await app.database.prisma.user.count()).toBe(0)
  })

  it.each(['application/xml', 'text/html', 'image/png'])(
    'answers 406 to a mutation of a client that accepts only %s, and writes nothing',
    async (accept) => {
      const query = 'mutation{createUser(input:{name:"a",email:"a@b",phone:"1"}){user{id}}}'
      const response = await post(JSON.stringify({ query }), { ...json, accept })
      expect(response.status).toBe(406)
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] })
      expect(await app.database.prisma.user.count()).toBe(0)
    },
  )

  it('forbids framing and foreign content on its HTML page', async () => {
    const response = await fetch(url, { headers: { accept: 'text/html' } })
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(response.headers.get('content-security-policy')).not.toMatch(/https?:|\*/)
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    await response.body?.cancel()
  })

  it('answers 413 to a body over 1 MiB', async () => {
    const response = await post(JSON.stringify({ query: `{__typename} #${'x'.repeat(1_048_576)}` }))
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }] })
  })

  it.each([
    ['fields', `{${'a{'.repeat(20_000)}b${'}'.repeat(20_000)}}`],
    ['lists', `{ users(filter: ${'['.repeat(20_000)}${']'.repeat(20_000)}) { nodes { id } } }`],
    ['types', `query ($a: ${'['.repeat(20_000)}Int${']'.repeat(20_000)}) { viewer { keyName } }`],
  ])('rejects %s nested 20,000 deep with BAD_USER_INPUT', async (_name, query) => {
    const response = await post(JSON.stringify({ query }))
    expect(response.status).toBeLessThan(500)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
  })

  it.each(['createdAfter', 'email'])(
    'rejects deeply nested variables with a client error, by POST and by GET: %s',
    async (field) => {
      const query = 'query ($filter: UserFilter) { users(filter: $filter) { nodes { id } } }'
      for (const depth of [5, 90, 5_000]) {
        const variables = `{"filter":{"${field}":${'['.repeat(depth)}${']'.repeat(depth)}}}`
        const byPost = await post(`{"query":${JSON.stringify(query)},"variables":${variables}}`)
        expect(byPost.status).toBeLessThan(500)
        expect(JSON.stringify(await byPost.json())).toMatch(/BAD_USER_INPUT|MALFORMED_REQUEST/)
        const search = `?query=${encodeURIComponent(query)}&variables=${variables}`
        expect((await send({ search })).status).toBeLessThan(500)
      }
    },
  )

  it('rejects a query nested more than 12 fields deep, but accepts the introspection query of GraphiQL', async () => {
    const nested = (pairs: number) =>
      `{ users(first: 5) { nodes { ${'accounts { user { '.repeat(pairs)} id ${'} } '.repeat(pairs)} } } }`
    const rejected = await (await post(JSON.stringify({ query: nested(5) }))).json()
    expect(rejected).toMatchObject({ errors: [{ message: 'The query is nested more than 12 fields deep.' }] })
    const inFragments = `{ users { nodes { ...A } } } fragment A on User { accounts { user { ...B } } }
      fragment B on User { accounts { user { accounts { user { accounts { user { accounts { user { id } } } } } } } } }`
    expect(await (await post(JSON.stringify({ query: inFragments }))).json()).toHaveProperty('errors')
    expect(await (await post(JSON.stringify({ query: nested(4) }))).json()).not.toHaveProperty('errors')
    expect(await (await post(JSON.stringify({ query: getIntrospectionQuery() }))).json()).not.toHaveProperty('errors')
  })

  it('rejects a document of more than 100,000 characters', async () => {
    const query = `{ viewer { keyName } } #${'x'.repeat(100_000)}`
    expect(await (await post(JSON.stringify({ query }))).json()).toHaveProperty('errors')
  })

  it.each(['multipart/mixed', 'text/event-stream', '*/*', 'application/json'])(
    'sends either a length or chunks, never both, to a client that accepts %s',
    async (accept) => {
      // fetch fails on a response that has both.
      const reply = await post('{"query":"{ __typename }"}', { ...json, accept })
      expect(reply.status).toBe(200)
      expect(await reply.text()).toContain('Query')
      expect(reply.headers.get('cache-control')).toBe('no-store')
    },
  )

  it('answers 405 to other methods', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) expect((await send({ method })).status).toBe(405)
  })
})
