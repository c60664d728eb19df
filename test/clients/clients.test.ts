import { ApolloClient, gql as apolloGql, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client/core'
import { createRateLimit } from '@fusion-gateway/limits'
import { fetchExchange, Client as UrqlClient } from '@urql/core'
import { ClientError, GraphQLClient } from 'graphql-request'
import createOpenApiClient from 'openapi-fetch'
import type { Observable, Subscription } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import type { paths } from '../fixtures/openapi.generated.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

const points = 25_000

let app: TestApp
let tenant: TestTenant
let url: string
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  const log = { error: () => undefined, warn: () => undefined }
  app = await startTestApp({ rateLimit: createRateLimit(points, { log }), introspection: false })
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  url = await app.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => app.close())

async function newKey(scopes?: readonly string[]): Promise<string> {
  return (await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'client', scopes })).key
}

/** The response as the client library returns it to its program. */
interface Received {
  readonly data: unknown
  readonly codes: readonly unknown[]
}

type Send = (key: string, document: string, variables?: Record<string, unknown>) => Promise<Received>

const codesOf = (errors: readonly { extensions?: object | undefined }[] = []) =>
  errors.map(({ extensions }) => (extensions as { code?: unknown } | undefined)?.code)

const clients: Record<string, Send> = {
  async 'Apollo Client'(key, document, variables = {}) {
    const link = new HttpLink({ uri: `${url}/graphql`, headers: { 'x-api-key': key } })
    const client = new ApolloClient({ link, cache: new InMemoryCache(), devtools: { enabled: false } })
    const parsed = apolloGql(document)
    const options = { variables, errorPolicy: 'all' as const }
    const { data, error } = /^mutation/.test(document)
      ? await client.mutate({ mutation: parsed, ...options })
      : await client.query({ query: parsed, ...options, fetchPolicy: 'network-only' })
    client.stop()
    if (error && !CombinedGraphQLErrors.is(error)) throw error
    return { data, codes: codesOf(error?.errors) }
  },

  async 'urql, which reads by GET'(key, document, variables = {}) {
    const fetchOptions = { headers: { 'x-api-key': key } }
    const client = new UrqlClient({
      url: `${url}/graphql`,
      exchanges: [fetchExchange],
      preferGetMethod: true,
      fetchOptions,
    })
    const run = /^mutation/.test(document) ? client.mutation(document, variables) : client.query(document, variables)
    const { data, error } = await run.toPromise()
    if (error?.networkError && error.graphQLErrors.length === 0) throw error.networkError
    return { data, codes: codesOf(error?.graphQLErrors) }
  },

  async 'graphql-request'(key, document, variables = {}) {
    const client = new GraphQLClient(`${url}/graphql`, { headers: { 'x-api-key': key }, errorPolicy: 'all' })
    try {
      const { data, errors } = await client.rawRequest(document, variables)
      return { data, codes: codesOf(errors) }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return { data: error.response.data, codes: codesOf(error.response.errors) }
    }
  },
}

describe.each(Object.entries(clients))('%s', (_, send) => {
  it('returns the requested data, also for a repeated request', async () => {
    const key = await newKey()
    for (let run = 0; run < 2; run += 1) {
      const received = await send(key, 'query User($id: ID!) { user(id: $id) { name accounts { platform } } }', {
        id: rows.user.id,
      })
      expect(received.codes).toEqual([])
      expect(received.data).toMatchObject({ user: { name: rows.user.name, accounts: [{ platform: 'YOUTUBE' }] } })
    }
  })

  it('returns the user errors of an invalid input', async () => {
    const document =
      'mutation Make($input: CreateUserInput!) { createUser(input: $input) { user { id } userErrors { code field } } }'
    const received = await send(await newKey(), document, { input: { name: ' ', email: 'a@b.c', phone: '1' } })
    expect(received.codes).toEqual([])
    expect(received.data).toMatchObject({
      createUser: { user: null, userErrors: [{ code: 'REQUIRED', field: ['name'] }] },
    })
  })

  it('returns the other fields if the key lacks the scope of one field', async () => {
    const document = 'query Phones { users(first: 1) { nodes { name phone } } }'
    const received = await send(await newKey(['users:read']), document)
    expect(received.codes).toEqual(['FORBIDDEN'])
    expect(received.data).toMatchObject({ users: { nodes: [{ name: rows.user.name, phone: null }] } })
  })

  it('reports TOO_EXPENSIVE for an operation that is too expensive', async () => {
    const accounts = Array.from({ length: 10 }, (_, at) => `a${at}: accounts { id }`).join(' ')
    const received = await send(await newKey(), `query Dear { users(first: 500) { nodes { id ${accounts} } } }`)
    expect(received.codes).toEqual(['TOO_EXPENSIVE'])
  })

  it('reports RATE_LIMITED when the budget of the tenant is spent', async () => {
    const { key } = await app.createTenant()
    // The response does not show how many users were read.
    const pages = Array.from({ length: 36 }, (_, at) => `a${at}: users(first: 500) { pageInfo { hasNextPage } }`).join(
      ' ',
    )
    const document = `query Much { ${pages} }`
    expect((await send(key, document)).codes).toEqual([])
    expect((await send(key, document)).codes).toEqual(['RATE_LIMITED'])
  })
})

describe('a subscription of Apollo Client with a plain HttpLink', () => {
  const document = apolloGql('subscription Follow($id: ID!) { job(id: $id) { id status } }')
  const cancel = (id: string) =>
    app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

  /**
   * Subscribes. Each call of `next` resolves with the next result, and with undefined when the subscription is
   * complete.
   */
  function follow(key: string, address: string, id: string) {
    const link = new HttpLink({ uri: `${address}/graphql`, headers: { 'x-api-key': key } })
    const client = new ApolloClient({ link, cache: new InMemoryCache(), devtools: { enabled: false } })
    const variables = { id }
    const results = client.subscribe({ query: document, variables, fetchPolicy: 'no-cache', errorPolicy: 'all' })
    const received: AsyncIterator<ApolloClient.SubscribeResult> = valuesOf(results)
    return {
      next: async () => (await received.next()).value as ApolloClient.SubscribeResult | undefined,
      stop: async () => {
        await received.return?.()
        client.stop()
      },
    }
  }
  const withStatus = (status: string) => ({ data: { job: { status } } })

  it('receives the present state and every change, and completes', async () => {
    const { id } = await factoriesFor(app, tenant).job()
    const results = follow(await newKey(), url, id)
    expect(await results.next()).toMatchObject(withStatus('PENDING'))
    await cancel(id)
    expect(await results.next()).toMatchObject(withStatus('CANCELLED'))
    expect(await results.next()).toBeUndefined()
    await results.stop()
  })

  it('receives the error of the subscription, and completes', async () => {
    const { tenantAppId } = tenant
    const { row, key } = await createKey(app.database, { tenantAppId, name: 'revoked' })
    const { id } = await factoriesFor(app, tenant).job()
    const results = follow(key, url, id)
    await results.next()
    await revokeKey(app.database, row.id)
    await cancel(id)
    const { error } = (await results.next()) ?? {}
    expect(CombinedGraphQLErrors.is(error) && codesOf(error.errors)).toEqual(['UNAUTHENTICATED'])
    expect(await results.next()).toBeUndefined()
    await results.stop()
  })

  it('receives the error of a variable', async () => {
    const results = follow(await newKey(), url, { no: 'id' } as unknown as string)
    const { error } = (await results.next()) ?? {}
    expect(CombinedGraphQLErrors.is(error) && codesOf(error.errors)).toEqual(['BAD_USER_INPUT'])
    await results.stop()
  })

  it('fails if the key is not valid', async () => {
    const results = follow('fus_unknown', url, 'job_1')
    const { error } = (await results.next()) ?? {}
    expect(CombinedGraphQLErrors.is(error) && codesOf(error.errors)).toEqual(['UNAUTHENTICATED'])
    await results.stop()
  })

  it('frees its permit when it ends', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const { id } = await factoriesFor(app, tenant).job()
    const address = await limited.app.listen({ port: 0, host: '127.0.0.1' })
    const key = await newKey()
    const first = follow(key, address, id)
    await first.next()
    const refused = follow(key, address, id)
    const { error } = (await refused.next()) ?? {}
    expect(CombinedGraphQLErrors.is(error) && codesOf(error.errors)).toEqual(['RATE_LIMITED'])
    await first.stop()
    // The gateway learns a moment later that the client has gone.
    let second = follow(key, address, id)
    while ((await second.next())?.error) second = follow(key, address, id)
    await second.stop()
    await limited.close()
  })
})

describe('openapi-fetch, with the types of /openapi.json', () => {
  const client = (key: string) => createOpenApiClient<paths>({ baseUrl: url, headers: { 'x-api-key': key } })

  it('returns the requested data', async () => {
    const { GET, POST } = client(await newKey())
    const { data } = await GET('/users/{id}', { params: { path: { id: rows.user.id } } })
    expect(data).toMatchObject({ id: rows.user.id, accounts: [{ user_platform: 'YOUTUBE' }] })
    const body = { name: 'Ada', email: 'ada@example.com', phone: '+1 555 0100' }
    expect((await POST('/users', { body })).data?.name).toBe('Ada')
    const page = await GET('/users', { params: { query: { limit: 1 } } })
    expect(page.data?.users).toHaveLength(1)
  })

  it('returns the errors of an invalid input', async () => {
    const { error, response } = await client(await newKey()).POST('/users', {
      body: { name: ' ', email: 'a@b.c', phone: '1' },
    })
    expect(response.status).toBe(422)
    expect(error).toMatchObject({ code: 'BAD_USER_INPUT', errors: [{ field: 'name', code: 'REQUIRED' }] })
  })

  it('returns FORBIDDEN if the key lacks a scope', async () => {
    const { GET } = client(await newKey(['users:read']))
    const { error } = await GET('/users/{id}', { params: { path: { id: rows.user.id } } })
    expect(error).toMatchObject({ status: 403, code: 'FORBIDDEN' })
  })

  // No route can be too expensive, because pages and lists of ids have at most 500 entries.
  it('returns RATE_LIMITED when the budget of the tenant is spent', async () => {
    const { GET } = client((await app.createTenant()).key)
    // A point for each id that is looked for.
    const ids = Array.from({ length: 500 }, (_, at) => `acc_${at}`)
    const statuses: number[] = []
    for (let run = 0; run < 48; run += 1) {
      statuses.push((await GET('/fusion/profiles', { params: { query: { account_ids: ids } } })).response.status)
    }
    expect(new Set(statuses)).toEqual(new Set([200]))
    const { error, response } = await GET('/users', { params: { query: { limit: 500 } } })
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 })
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

/** The values of an observable. The iterator ends when it completes. */
async function* valuesOf<Value>(observable: Observable<Value>): AsyncGenerator<Value, undefined> {
  let subscription: Subscription
  const stream = new ReadableStream<Value>({
    start(controller) {
      subscription = observable.subscribe({
        next: (value) => controller.enqueue(value),
        error: (error) => controller.error(error),
        complete: () => controller.close(),
      })
    },
    cancel: () => subscription.unsubscribe(),
  })
  yield* stream
  return undefined
}
