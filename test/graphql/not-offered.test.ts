import { ApolloClient, type ApolloLink, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { BatchHttpLink } from '@apollo/client/link/batch-http'
import { apolloMultipart, loadYoga } from '@fusion-gateway/gateway-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ introspection: false, heartbeatMilliseconds: 5 })
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const post = (payload: object | unknown[], accept = 'application/json') =>
  app.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': tenant.key, accept }, payload })

describe('what the gateway does not offer', () => {
  it.each([
    [
      'a long batch',
      Array.from({ length: 101 }, () => ({ query: '{ viewer { keyName } }' })),
      'in a request of its own',
    ],
    ['an empty batch', [], 'in a request of its own'],
    ['@defer', { query: '{ viewer { ... @defer { keyName } } }' }, 'Request the deferred fields in another operation.'],
    ['@stream', { query: '{ users { nodes @stream { id } } }' }, 'in pages, with first and after.'],
  ])('is refused with the way to do without: %s', async (_name, payload, advice) => {
    const response = await post(payload, 'multipart/mixed;deferSpec=20220824, application/json')
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.json().errors).toHaveLength(1)
    expect(response.json().errors[0].message).toContain(advice)
  })

  it.each([
    [undefined, 200, 'application/json'],
    ['application/json', 200, 'application/json'],
    ['application/graphql-response+json', 400, 'application/graphql-response+json'],
  ])('is refused with an error for each operation: a batch, accepting %s', async (accept, status, type) => {
    const response = await post([{ query: '{ viewer { keyName } }' }, { query: 'nonsense' }, 5], accept ?? '*/*')
    expect([response.statusCode, response.headers['content-type']]).toEqual([status, `${type}; charset=utf-8`])
    const message = 'Batching is not supported. Send each operation in a request of its own.'
    const result = { errors: [{ message, extensions: { code: 'MALFORMED_REQUEST' } }] }
    expect(response.json()).toEqual([result, result, result])
  })

  it('can be read by its clients: a batch and an upload of Apollo Client', async () => {
    const options = { uri: `${await addressOf(app)}/graphql`, headers: { 'x-api-key': tenant.key } }
    // As apollo-upload-client does: a form instead of JSON, and the rest as HttpLink sends it.
    const upload =
      (body: BodyInit) =>
      (url: RequestInfo | URL, init: RequestInit = {}) => {
        const { 'content-type': _, ...headers } = init.headers as Record<string, string>
        return fetch(url, { ...init, body, headers })
      }
    const form = (size: number) => {
      const data = new FormData()
      data.set('operations', '{}')
      data.set('0', new Blob(['x'.repeat(size)]))
      return data
    }
    const errorsOf = async (link: ApolloLink) => {
      const client = new ApolloClient({ link, cache: new InMemoryCache(), devtools: { enabled: false } })
      const queries = ['query A { viewer { keyName } }', 'query B { viewer { scopes } }'].map((query) =>
        client.query({ query: gql(query), errorPolicy: 'all' }),
      )
      const results = await Promise.all(queries)
      client.stop()
      return results.map(({ error }) => CombinedGraphQLErrors.is(error) && error.message)
    }
    const batching = 'Batching is not supported. Send each operation in a request of its own.'
    expect(await errorsOf(new BatchHttpLink(options))).toEqual([batching, batching])
    const uploads = 'Uploads of files (multipart/form-data) are not supported. Send the body as application/json.'
    for (const size of [10, 2 * 1024 * 1024]) {
      const link = new HttpLink({ ...options, fetch: upload(form(size)) })
      expect(await errorsOf(link), `${size}`).toEqual([uploads, uploads])
    }
  })

  it.each(['application/json', 'multipart/mixed', 'multipart/mixed;deferSpec=20220824', 'text/event-stream;q=0, */*'])(
    'is refused with the accepted media type: a subscription as %s',
    async (accept) => {
      const response = await post({ query: 'subscription { jobs { id } }' }, accept)
      expect(response.statusCode).toBe(406)
      expect(response.json().errors).toMatchObject([{ extensions: { code: 'NOT_ACCEPTABLE' } }])
      expect(response.json().errors[0].message).toContain('Accept text/event-stream.')
    },
  )
})

const specification = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0'

describe("Apollo's multipart protocol", () => {
  const follow = 'subscription ($id: ID!) { job(id: $id) { status } }'

  it('answers a query in JSON, and a subscription with server-sent events if the client names them', async () => {
    const json = await post({ query: '{ viewer { keyName } }' }, `${specification}, application/json`)
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
    const events = await post({ query: follow, variables: { id: 'x' } }, `${specification}, text/event-stream`)
    expect(events.headers['content-type']).toBe('text/event-stream')
  })

  it('sends each result in a part, with heartbeats between them, and an end', async () => {
    const { id } = await factoriesFor(app, tenant).job()
    const response = await fetch(`${await addressOf(app)}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: specification, 'x-api-key': tenant.key },
      body: JSON.stringify({ query: follow, variables: { id } }),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('multipart/mixed;boundary="graphql";subscriptionSpec=1.0')
    let text = ''
    let isCancelled = false
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      // A part is complete for a client when the next boundary has arrived.
      if (!isCancelled && text.includes('PENDING') && text.includes('{}\r\n--graphql')) {
        isCancelled = true
        await app.graphql(tenant, `mutation { cancelJob(input: { id: "${id}" }) { job { id } } }`)
      }
    }
    const [first, ...parts] = text.split('\r\n--graphql')
    expect([first, parts.pop()]).toEqual(['', '--\r\n'])
    const messages = parts.map((part) => {
      const [head, body = ''] = part.split('\r\n\r\n')
      expect(head).toBe('\r\ncontent-type: application/json; charset=utf-8')
      return JSON.parse(body) as object
    })
    // The announcement of the new job can arrive after the subscription has started, and then the job is sent again.
    const results = messages.flatMap((message) => ('payload' in message ? [JSON.stringify(message.payload)] : []))
    const withStatus = (status: string) => JSON.stringify({ data: { job: { status } } })
    const changes = results.filter((result, index) => result !== results[index - 1])
    expect(changes).toEqual([withStatus('PENDING'), withStatus('CANCELLED')])
    expect(messages).toContainEqual({})
  })

  it('ends the subscription as soon as the client leaves', async () => {
    const ended = Promise.withResolvers<void>()
    const results = {
      [Symbol.asyncIterator]: () => results,
      next: () => ended.promise.then(() => ({ done: true as const, value: undefined })),
      return: async () => {
        ended.resolve()
        return { done: true as const, value: undefined }
      },
    }
    // A heartbeat that never comes: the end does not wait for it.
    const { createServer } = await loadYoga()
    const server = createServer({ schema: schemas.schema, path: [], plugins: [], heartbeatMilliseconds: 3_600_000 })
    const reply = { header: () => reply } as unknown as FastifyReply
    const request = { url: '/graphql', method: 'POST', headers: {} } as FastifyRequest
    const execute = async () => ({ results: results as never, type: apolloMultipart }) as const
    const body = (await server.serve({ request, reply, execute })) as ReadableStream
    const reader = body.getReader()
    await reader?.read()
    const waiting = reader?.read()
    await reader?.cancel()
    await Promise.all([ended.promise, waiting])
  })

  it('shows names of the schema no more than other responses do', async () => {
    const { body } = await post({ query: follow, variables: { id: { no: 1 } } }, specification)
    expect(body).toContain('The schema does not allow \\"$id\\" or its value here.')
  })
})
