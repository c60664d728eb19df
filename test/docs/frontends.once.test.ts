import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { InfiniteQueryObserver, QueryClient } from '@tanstack/query-core'
import { fetchExchange, Client as UrqlClient } from '@urql/core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { effectScope, ref, watch } from 'vue'
import { createAction } from '../../examples/frontends/action.ts'
import { createApolloClient, hasCode, Withheld } from '../../examples/frontends/apollo.ts'
import { patientFetch } from '../../examples/frontends/patient-fetch.ts'
import { createPoll } from '../../examples/frontends/poll.ts'
import { createSend, SendError } from '../../examples/frontends/send.ts'
import { createSendAs } from '../../examples/frontends/server.ts'
import { createSocket, createSocketExchange, createSocketLink } from '../../examples/frontends/socket.ts'
import { createSubscriptions, type Subscribe } from '../../examples/frontends/subscriptions.ts'
import { usersOptions } from '../../examples/frontends/tanstack-query.ts'
import { createTokenBackend } from '../../examples/frontends/token-backend.ts'
import { createTokens, type Tokens } from '../../examples/frontends/tokens.ts'
import { createUrqlClient } from '../../examples/frontends/urql.ts'
import { useQuery } from '../../examples/frontends/vue.ts'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { projectRoot } from '../support/docs.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
let url: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  url = `${await addressOf(app)}/graphql`
})
afterAll(() => app.close())

/**
 * Starts the backend of a frontend, in which two people can sign in. Its key can be replaced, which ends the tokens of
 * the old one.
 */
async function startBackend(gateway = url) {
  const newKey = () => createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'backend' })
  let apiKey = await newKey()
  const people: Record<string, { userId?: string; scopes?: string[] }> = {
    'session=user': { userId: rows.user.id, scopes: ['users:read', 'users:write', 'profiles:read'] },
    'session=staff': {
      scopes: ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'jobs:read', 'events:read'],
    },
  }
  const backend = createTokenBackend({
    url: gateway,
    get apiKey() {
      return apiKey.key
    },
    inputFor: async ({ headers }) => people[headers.cookie ?? ''],
  })
  const address = await backend.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => backend.close())
  const request = (cookie: string) => fetch(`${address}/token`, { method: 'POST', headers: { cookie } })
  return {
    request,
    tokensOf: (person: 'user' | 'staff') => createTokens(() => request(`session=${person}`)),
    /** Rejects all tokens that exist. */
    async replaceKey() {
      const old = apiKey
      apiKey = await newKey()
      await revokeKey(app.database, old.row.id)
    },
  }
}

/** Two users with the same name, in the order of their creation. */
async function twins() {
  const name = `Twin ${crypto.randomUUID()}`
  const create = factoriesFor(app, tenant)
  const [one, other] = [
    await create.user({ name, createdAt: new Date('2026-01-01') }),
    await create.user({ name, createdAt: new Date('2026-01-02') }),
  ]
  const thenBy = (direction: 'ASC' | 'DESC') => [{ field: 'CREATED_AT', direction }]
  return { name, thenBy, ids: [one.id, other.id] }
}

interface Users {
  readonly users: { readonly edges: readonly { readonly node: { readonly id: string } }[] }
}

const idsOf = (data: Users | undefined) => data?.users.edges.map(({ node }) => node.id)

const orderedUsers = `query Ordered($search: String, $thenBy: [UserOrder!]) {
  users(filter: { search: $search }, orderBy: { field: NAME, direction: ASC }, thenBy: $thenBy) { edges { node { id } } }
}`

/** A user with three accounts. */
async function manyAccounts() {
  const create = factoriesFor(app, tenant)
  const user = await create.user({ name: `Many ${crypto.randomUUID()}` })
  const ids: string[] = []
  for (const day of [1, 2, 3]) {
    ids.push((await create.account(user.id, { createdAt: new Date(`2026-01-0${day}`) })).id)
  }
  return { user, ids }
}

interface Accounts {
  readonly user: {
    readonly accountsConnection: {
      readonly edges: readonly { readonly node: { readonly id: string } }[]
      readonly pageInfo: { readonly endCursor: string }
    }
  }
}

const accountsOfUser = `query Accounts($id: ID!, $after: String) {
  user(id: $id) { id accountsConnection(first: 2, after: $after) { edges { node { id } } pageInfo { endCursor } } }
}`

const contact = 'query Contact($id: ID!) { user(id: $id) { id name email } }'
const unlink = 'mutation Unlink($id: ID!) { unlinkAccount(input: { id: $id }) { unlinkedAccountId } }'
const deleteUser = 'mutation Delete($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }'

const cancel = (id: string) =>
  app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

const newJob = async () => (await factoriesFor(app, tenant).job()).id

const followJob = 'subscription Follow($id: ID!) { job(id: $id) { id status } }'
const codesOf = (errors: readonly { extensions?: object | undefined }[] = []) =>
  errors.map(({ extensions }) => (extensions as { code?: unknown } | undefined)?.code)

describe('the token backend', () => {
  it('answers a signed-in user with a token that sees only this user, and others with 401', async () => {
    await factoriesFor(app, tenant).user()
    const { request, tokensOf } = await startBackend()
    expect((await request('session=unknown')).status).toBe(401)
    const response = await request('session=user')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const token = await tokensOf('user').current()
    const { data } = await app.graphql({ ...tenant, token }, '{ viewer { user { id } } users { nodes { id } } }')
    expect(data).toEqual({ viewer: { user: { id: rows.user.id } }, users: { nodes: [{ id: rows.user.id }] } })
  })

  it('answers 502 if the gateway creates no token', async () => {
    const backend = await startBackend(url.replace('graphql', 'users'))
    expect((await backend.request('session=user')).status).toBe(502)
    await expect(backend.tokensOf('user').current()).rejects.toThrow('502')
  })

  it('is asked once for all who wait, and again when the token expires soon or is rejected', async () => {
    const { request } = await startBackend()
    let requests = 0
    let lifetime = 900
    const tokens = createTokens(async () => {
      requests += 1
      const response = (await (await request('session=user')).json()) as object
      return Response.json({ ...response, expiresAt: new Date(Date.now() + lifetime * 1_000).toISOString() })
    })
    const [first, second] = await Promise.all([tokens.current(), tokens.current()])
    expect([requests, first]).toEqual([1, second])
    expect(await tokens.current()).toBe(first)
    lifetime = 30
    expect(await tokens.renew()).not.toBe(first)
    expect(requests).toBe(2)
    await tokens.current()
    expect(requests).toBe(3)
  })
})

describe('Apollo Client', () => {
  const connect = (tokens: Tokens, uri = url) => {
    const client = createApolloClient(uri, tokens)
    onTestFinished(() => client.stop())
    return client
  }

  it('renews a token that is rejected', async () => {
    const backend = await startBackend()
    const client = connect(backend.tokensOf('user'))
    const query = gql('query Me { viewer { user { id name } } }')
    const read = () => client.query({ query, fetchPolicy: 'network-only', errorPolicy: 'all' })
    const { name, id } = rows.user
    expect(await read()).toMatchObject({ data: { viewer: { user: { id, name } } } })
    await backend.replaceKey()
    expect(await read()).toMatchObject({ data: { viewer: { user: { id, name } } } })
  })

  it('reports UNAUTHENTICATED if the new token is rejected too', async () => {
    const client = connect({ current: async () => 'no-token', renew: async () => 'no-token' })
    const error = await client.query({ query: gql('{ viewer { keyName } }') }).catch((thrown: unknown) => thrown)
    expect(hasCode(error, 'UNAUTHENTICATED')).toBe(true)
  })

  it('has null and FORBIDDEN for fields whose scope is missing, and the other data', async () => {
    const client = connect((await startBackend()).tokensOf('user'))
    const query = gql('query Contact($id: ID!) { user(id: $id) { id name email } }')
    const { data, error } = await client.query({ query, variables: { id: rows.user.id }, errorPolicy: 'all' })
    expect(data).toMatchObject({ user: { name: rows.user.name, email: null } })
    expect(hasCode(error, 'FORBIDDEN')).toBe(true)
  })

  it('appends pages to a list, separates lists by filter, and reads a user of a list from the cache', async () => {
    const other = await factoriesFor(app, tenant).user({ name: 'Zoe' })
    const client = connect((await startBackend()).tokensOf('staff'))
    const query = gql(`query Users($first: Int!, $after: String, $filter: UserFilter) {
      users(first: $first, after: $after, filter: $filter) { edges { node { id name } } pageInfo { endCursor hasNextPage } }
    }`)
    const read = (variables: object) => client.query({ query, variables, fetchPolicy: 'network-only' })
    type Users = { users: { edges: { node: { id: string } }[]; pageInfo: { endCursor: string } } }
    const { data } = await read({ first: 1 })
    await read({ first: 500, after: (data as Users).users.pageInfo.endCursor })
    await read({ first: 5, filter: { search: 'Zoe' } })
    const idsOf = (variables: object) =>
      (client.readQuery({ query, variables }) as Users).users.edges.map(({ node }) => node.id)
    expect(idsOf({ first: 1 })).toEqual(expect.arrayContaining([rows.user.id, other.id]))
    expect(idsOf({ first: 5, filter: { search: 'Zoe' } })).toEqual([other.id])

    const one = gql('query User($id: ID!) { user(id: $id) { id name } }')
    const cached = await client.query({ query: one, variables: { id: other.id }, fetchPolicy: 'cache-only' })
    expect(cached.data).toMatchObject({ user: { name: 'Zoe' } })
    const missing = await client.query({ query: one, variables: { id: 'usr_missing' } })
    expect(missing.data).toEqual({ user: null })
    expect(client.readQuery({ query: one, variables: { id: 'usr_missing' } })).toEqual({ user: null })
  })

  it('keeps lists of different orders apart, also by `thenBy`', async () => {
    const { name, thenBy, ids } = await twins()
    const client = connect((await startBackend()).tokensOf('staff'))
    const read = async (direction: 'ASC' | 'DESC', fetchPolicy: 'network-only' | 'cache-only') => {
      const variables = { search: name, thenBy: thenBy(direction) }
      const { data } = await client.query<Users>({ query: gql(orderedUsers), variables, fetchPolicy })
      return idsOf(data)
    }
    for (const policy of ['network-only', 'cache-only'] as const) {
      expect(await read('ASC', policy)).toEqual(ids)
      expect(await read('DESC', policy)).toEqual(ids.toReversed())
    }
  })

  it('has the fields of fragments on interfaces', async () => {
    const client = connect((await startBackend()).tokensOf('staff'))
    const query = gql('query One($id: ID!) { node(id: $id) { ... on Node { id } ... on User { name } } }')
    const { data } = await client.query({ query, variables: { id: rows.user.id } })
    expect(data).toMatchObject({ node: { id: rows.user.id, name: rows.user.name } })
  })

  it('keeps the numbers that two parts of a page read', async () => {
    const client = connect((await startBackend()).tokensOf('staff'))
    const parts = ['count verified { verified }', 'followers { sum } verified { unverified }']
    const queries = parts.map((part) => gql(`{ profileStats { ${part} } }`))
    for (const query of queries) await client.query({ query })
    for (const query of queries) {
      const { data } = await client.query<{ profileStats: object }>({ query, fetchPolicy: 'cache-only' })
      expect(data?.profileStats).toMatchObject({ verified: expect.anything() })
    }
  })

  it('appends pages to a list of an object', async () => {
    const { user, ids } = await manyAccounts()
    const client = connect((await startBackend()).tokensOf('staff'))
    const list = client.watchQuery<Accounts>({ query: gql(accountsOfUser), variables: { id: user.id } })
    const shown = () => (list.getCurrentResult().data as Accounts | undefined)?.user.accountsConnection
    const subscription = list.subscribe({})
    onTestFinished(() => subscription.unsubscribe())
    await vi.waitFor(() => expect(shown()?.edges).toHaveLength(2), 10_000)
    await list.fetchMore({ variables: { after: shown()?.pageInfo.endCursor } })
    await vi.waitFor(() => expect(shown()?.edges.map(({ node }) => node.id)).toEqual(ids), 10_000)
  })

  it('says which fields were withheld when the page reads them again from the cache', async () => {
    const withheld = new Withheld()
    const client = createApolloClient(url, (await startBackend()).tokensOf('user'), withheld)
    onTestFinished(() => client.stop())
    const read = () => client.query({ query: gql(contact), variables: { id: rows.user.id }, errorPolicy: 'all' })
    for (const error of [expect.anything(), undefined]) {
      expect(await read()).toEqual({ data: { user: expect.objectContaining({ email: null }) }, error })
      expect([...withheld.of('Contact')]).toEqual(['user.email'])
    }
  })

  it('removes what is deleted from its lists', async () => {
    const { user, ids } = await manyAccounts()
    const client = connect((await startBackend()).tokensOf('staff'))
    const query = gql(`query Mine($id: ID!, $search: String) {
      user(id: $id) { id accounts { id } }
      users(filter: { search: $search }) { totalCount edges { node { id } } }
    }`)
    const list = client.watchQuery({ query, variables: { id: user.id, search: user.name } })
    const shown: unknown[] = []
    const subscription = list.subscribe(({ data }) => shown.push(data))
    onTestFinished(() => subscription.unsubscribe())
    const showsLast = (data: object) => vi.waitFor(() => expect(shown.at(-1)).toMatchObject(data), 10_000)
    await showsLast({ users: { totalCount: 1 }, user: { accounts: ids.map((id) => ({ id })) } })
    const variables = { id: ids[0] }
    await client.mutate({ mutation: gql(unlink), variables })
    await showsLast({ user: { accounts: ids.slice(1).map((id) => ({ id })) } })
    await client.mutate({ mutation: gql(deleteUser), variables: { id: user.id } })
    await showsLast({ users: { totalCount: 0, edges: [] }, user: null })
  })

  it('sends an idempotency key with mutations', async () => {
    const client = connect((await startBackend()).tokensOf('user'))
    const keys: unknown[] = []
    app.app.server.on('request', ({ headers }) => keys.push(headers['idempotency-key']))
    const mutation = gql(`mutation Rename($input: UpdateUserInput!) {
      updateUser(input: $input) { user { id name } userErrors { code } }
    }`)
    const { data } = await client.mutate({ mutation, variables: { input: { id: rows.user.id, name: 'New name' } } })
    expect(data).toMatchObject({ updateUser: { user: { name: 'New name' }, userErrors: [] } })
    expect(keys.at(-1)).toMatch(/^[\w-]{36}$/)
    await client.mutate({ mutation, variables: { input: { id: rows.user.id, name: rows.user.name } } })
  })

  it('subscribes, and starts again each time its token ends', async () => {
    const backend = await startBackend()
    const client = connect(backend.tokensOf('staff'))
    const id = await newJob()
    const results = client.subscribe({ query: gql(followJob), variables: { id }, fetchPolicy: 'no-cache' })
    const received: unknown[] = []
    await new Promise<void>((resolve, reject) => {
      results.subscribe({
        complete: resolve,
        error: reject,
        next({ data, error }) {
          received.push(error ?? (data as { job: { status: string } }).job.status)
          // Each new stream begins with the present state.
          if (received.length < 3) void backend.replaceKey()
          else void cancel(id)
        },
      })
    })
    expect(received).toEqual(['PENDING', 'PENDING', 'PENDING', 'CANCELLED'])
  })

  it('replaces the jobs of an event by those of the next one, without a warning of the build for development', async () => {
    const script = `
      import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
      import { createApolloClient } from './examples/frontends/apollo.ts'
      const { cache } = createApolloClient('http://127.0.0.1', {})
      const query = gql('subscription { jobs { id status } }')
      const [one, other] = ['job_1', 'job_2'].map((id) => ({ __typename: 'Job', id, status: 'PENDING' }))
      for (const jobs of [[one, other], [other]]) cache.write({ query, dataId: 'ROOT_SUBSCRIPTION', result: { jobs } })
      console.log(JSON.stringify(cache.extract().ROOT_SUBSCRIPTION.jobs))`
    const args = ['--conditions=development', '--input-type=module', '--eval', script]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot })
    expect([stdout, stderr]).toEqual(['[{"__ref":"Job:job_2"}]\n', ''])
  })
})

describe('an action', () => {
  const mutation = `mutation Create($input: CreateUserInput!) {
    createUser(input: $input) { user { id name } userErrors { code } }
  }`
  const byClient: Record<string, (tokens: Tokens) => (input: object, action: string) => Promise<unknown>> = {
    'Apollo Client'(tokens) {
      const client = createApolloClient(url, tokens)
      onTestFinished(() => client.stop())
      return (input, action) => client.mutate({ mutation: gql(mutation), variables: { input }, context: { action } })
    },
    urql(tokens) {
      const client = createUrqlClient(url, tokens)
      return (input, action) => client.mutation(mutation, { input }, { action }).toPromise()
    },
    fetch(tokens) {
      const send = createSend(url, tokens)
      return (input, action) => send(mutation, { input }, { action })
    },
  }

  it.each(Object.entries(byClient))('creates one user with %s if a response is lost', async (_, create) => {
    const tokens = (await startBackend()).tokensOf('staff')
    await tokens.current()
    const send = create(tokens)
    const run = createAction()
    const name = `Once ${crypto.randomUUID()}`
    const click = (input: object) => run((key) => send({ email: 'once@example.com', phone: '1', ...input }, key))
    const request = globalThis.fetch
    const lost = vi.spyOn(globalThis, 'fetch').mockImplementationOnce(async (...args) => {
      await request(...args)
      throw new TypeError('The connection broke.')
    })
    onTestFinished(() => lost.mockRestore())
    await click({ name }).catch(() => undefined)
    await click({ name })
    const count = () =>
      app.graphql<{ users: { totalCount: number } }>(
        tenant,
        'query ($search: String) { users(filter: { search: $search }) { totalCount } }',
        { search: name },
      )
    expect((await count()).data.users.totalCount).toBe(1)
    // The gateway has answered, so the next click is another action, also after a rejected input.
    await click({ name: ' ' })
    await click({ name })
    expect((await count()).data.users.totalCount).toBe(2)
  })
})

describe('fetch alone', () => {
  const me = 'query Me { viewer { user { id } } }'

  it('renews a token that is rejected, and says which fields are withheld', async () => {
    const backend = await startBackend()
    const send = createSend(url, backend.tokensOf('user'))
    const mine = { viewer: { user: { id: rows.user.id } } }
    expect(await send(me)).toEqual({ data: mine, withheld: [] })
    await backend.replaceKey()
    expect(await send('{ viewer { user { id } } jobs { nodes { id } } }')).toEqual({
      data: { ...mine, jobs: null },
      withheld: ['jobs'],
    })
    expect((await send('{ users { nodes { id email } } }')).withheld).toEqual(['users.nodes.email'])
    await expect(send('{ unknown }')).rejects.toThrow('unknown')
  })

  it('throws if a field could not be read, so that nobody takes it for an empty value', async () => {
    const tokens = (await startBackend()).tokensOf('user')
    await tokens.current()
    const errors = [{ message: 'Try again.', path: ['users'], extensions: { code: 'SERVICE_UNAVAILABLE' } }]
    const failing = vi
      .spyOn(globalThis, 'fetch')
      .mockResolvedValueOnce(Response.json({ data: { users: null }, errors }))
    onTestFinished(() => failing.mockRestore())
    const error = await createSend(url, tokens)('{ users { nodes { id } } }').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SendError)
    expect(error).toMatchObject({ message: 'Try again.', isTemporary: true, data: { users: null } })
  })

  it('sends a key with which a mutation that is repeated runs once', async () => {
    const keys: unknown[] = []
    app.app.server.on('request', ({ headers }) => keys.push(headers['idempotency-key']))
    const backend = await startBackend()
    const tokens = backend.tokensOf('user')
    await tokens.current()
    await backend.replaceKey()
    keys.length = 0
    const rename = 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }'
    await createSend(url, tokens)(rename, { input: { id: rows.user.id, name: rows.user.name } })
    const sent = keys.filter((key) => key !== undefined)
    expect(sent).toHaveLength(2)
    expect(new Set(sent).size).toBe(1)
  })

  it('TanStack Query loads a list page by page', async () => {
    const create = factoriesFor(app, tenant)
    for (let number = 1; number <= 21; number += 1) await create.user({ name: `Tanya ${number}` })
    const send = createSend(url, (await startBackend()).tokensOf('staff'))
    const client = new QueryClient()
    onTestFinished(() => client.clear())
    const list = new InfiniteQueryObserver(client, usersOptions(send, 'Tanya'))
    const [first] = (await list.refetch()).data?.pages ?? []
    expect([first?.data.users?.nodes.length, list.getCurrentResult().hasNextPage]).toEqual([20, true])
    const { data } = await list.fetchNextPage()
    expect(data?.pages.map((page) => page.data.users?.nodes.length)).toEqual([20, 1])
    expect(list.getCurrentResult().hasNextPage).toBe(false)
  })

  it('Vue sends a query again when its variables change, and ends it with its component', async () => {
    const send = createSend(url, (await startBackend()).tokensOf('staff'))
    const id = ref(rows.user.id)
    const component = effectScope()
    const { data, error } = component.run(() =>
      useQuery<{ user: { name: string } | null }>(send, 'query ($id: ID!) { user(id: $id) { name } }', () => ({
        id: id.value,
      })),
    ) as ReturnType<typeof useQuery<{ user: { name: string } | null }>>
    const next = (source: typeof data | typeof error) =>
      new Promise((resolve) => watch(source, resolve, { once: true, flush: 'sync' }))
    await next(data)
    expect(data.value).toEqual({ user: { name: rows.user.name } })
    const changed = next(data)
    id.value = 'usr_missing'
    expect(await changed).toEqual({ user: null })
    component.stop()
    expect(error.value).toBeUndefined()
  })

  it('a server that renders pages sees what the user sees', async () => {
    await factoriesFor(app, tenant).user()
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'server' })
    const send = createSendAs(rows.user.id, { url, apiKey: key })
    const { data } = await send('{ users { nodes { id } } }')
    expect(data).toEqual({ users: { nodes: [{ id: rows.user.id }] } })
    await expect(createSendAs('usr_missing', { url, apiKey: key })(me)).rejects.toThrow('502')
  })
})

describe('urql', () => {
  /** A client, and the warnings of its cache. */
  async function connect(person: 'user' | 'staff' = 'staff') {
    const warnings = vi.spyOn(console, 'warn').mockReturnValue()
    onTestFinished(() => warnings.mockRestore())
    return { client: createUrqlClient(url, (await startBackend()).tokensOf(person)), warnings }
  }

  it('keeps lists of different orders apart, also by `thenBy`', async () => {
    const { name, thenBy, ids } = await twins()
    const { client } = await connect()
    const read = async (direction: 'ASC' | 'DESC', requestPolicy: 'network-only' | 'cache-only') => {
      const variables = { search: name, thenBy: thenBy(direction) }
      const { data } = await client.query<Users>(orderedUsers, variables, { requestPolicy }).toPromise()
      return idsOf(data)
    }
    for (const policy of ['network-only', 'cache-only'] as const) {
      expect(await read('ASC', policy)).toEqual(ids)
      expect(await read('DESC', policy)).toEqual(ids.toReversed())
    }
  })

  it('has objects without an id and the fields of fragments on interfaces, without a warning', async () => {
    const { client, warnings } = await connect()
    const query = `query One($id: ID!) {
      viewer { scopes }
      tenantStats { users accountsByPlatform { platform count } jobsByStatus { status count } }
      profileStats { count followers { sum } verified { verified } platforms { value count } statuses { status count } }
      userStats { count platforms { value count } statuses { status count } }
      node(id: $id) { ... on Node { id } ... on User { name } }
    }`
    for (const requestPolicy of ['network-only', 'cache-only'] as const) {
      const { data, error } = await client.query(query, { id: rows.user.id }, { requestPolicy }).toPromise()
      expect(error).toBeUndefined()
      expect(data).toMatchObject({ userStats: {}, node: { id: rows.user.id, name: rows.user.name } })
    }
    expect(warnings.mock.calls).toEqual([])
  })

  it('appends pages to a list of an object', async () => {
    const { user, ids } = await manyAccounts()
    const { client } = await connect()
    const read = (after: string | null) => client.query<Accounts>(accountsOfUser, { id: user.id, after }).toPromise()
    const { data } = await read(null)
    const more = await read(data?.user.accountsConnection.pageInfo.endCursor ?? null)
    expect(more.data?.user.accountsConnection.edges.map(({ node }) => node.id)).toEqual(ids)
  })

  it('says which fields are withheld, also when the page reads them again', async () => {
    const { client } = await connect('user')
    for (let visit = 1; visit <= 2; visit += 1) {
      const { data, error } = await client.query(contact, { id: rows.user.id }).toPromise()
      expect([data.user.email, codesOf(error?.graphQLErrors)]).toEqual([null, ['FORBIDDEN']])
    }
  })

  it('removes what is deleted from its lists', async () => {
    const { user, ids } = await manyAccounts()
    const { client } = await connect()
    const query = `query Mine($id: ID!, $search: String) {
      user(id: $id) { id accounts { id } }
      users(filter: { search: $search }) { totalCount edges { node { id } } }
    }`
    const read = async () => (await client.query(query, { id: user.id, search: user.name }).toPromise()).data
    expect(await read()).toMatchObject({ users: { totalCount: 1 }, user: { accounts: ids.map((id) => ({ id })) } })
    await client.mutation(unlink, { id: ids[0] }).toPromise()
    expect(await read()).toMatchObject({ user: { accounts: ids.slice(1).map((id) => ({ id })) } })
    await client.mutation(deleteUser, { id: user.id }).toPromise()
    expect(await read()).toMatchObject({ users: { totalCount: 0, edges: [] }, user: null })
  })

  it('renews a token that is rejected', async () => {
    const backend = await startBackend()
    const client = createUrqlClient(url, backend.tokensOf('user'))
    const read = () => client.query('query Me { viewer { user { id } } }', {}).toPromise()
    const me = { viewer: { user: { id: rows.user.id } } }
    expect(await read()).toMatchObject({ data: me, error: undefined })
    await backend.replaceKey()
    expect(await read()).toMatchObject({ data: me, error: undefined })
  })

  it('reports UNAUTHENTICATED if the new token is rejected too', async () => {
    const client = createUrqlClient(url, { current: async () => 'no-token', renew: async () => 'no-token' })
    const { error } = await client.query('{ viewer { keyName } }', {}).toPromise()
    expect(codesOf(error?.graphQLErrors)).toEqual(['UNAUTHENTICATED'])
  })

  it('subscribes, and starts again each time its token ends', async () => {
    const backend = await startBackend()
    const client = createUrqlClient(url, backend.tokensOf('staff'))
    const id = await newJob()
    const received: unknown[] = []
    await new Promise<void>((resolve) => {
      client.subscription(followJob, { id }).subscribe(({ data, error }) => {
        received.push(error?.graphQLErrors[0]?.extensions['code'] ?? data.job.status)
        if (data?.job.status === 'CANCELLED') resolve()
        else if (received.length < 3) void backend.replaceKey()
        else void cancel(id)
      })
    })
    expect(received).toEqual(['PENDING', 'PENDING', 'PENDING', 'CANCELLED'])
  })
})

describe('subscriptions of graphql-sse', () => {
  /** Subscribes. Each call of `next` resolves with the next result, and with undefined at the end. */
  function follow(subscribeTo: Subscribe, id: string) {
    let stop = () => {}
    const results = new ReadableStream({
      start(controller) {
        stop = subscribeTo(
          { query: followJob, variables: { id } },
          {
            next: (result) => controller.enqueue(result),
            error: (error) => controller.error(error),
            complete: () => controller.close(),
          },
        )
      },
    }).getReader()
    return { next: async () => (await results.read()).value, stop: () => stop() }
  }

  it('start again with a new token each time theirs ends', async () => {
    const backend = await startBackend()
    const subscribeTo = createSubscriptions(url, backend.tokensOf('staff'))
    const used = new Set<unknown>()
    app.app.server.on('request', ({ headers }) => {
      if (headers.accept === 'text/event-stream') used.add(headers.authorization)
    })
    const ids = [await newJob(), await newJob()]
    const streams = ids.map((id) => follow(subscribeTo, id))
    const next = () => Promise.all(streams.map((stream) => stream.next()))
    const all = (status: string) => ids.map((id) => ({ data: { job: { id, status } } }))
    expect(await next()).toMatchObject(all('PENDING'))
    expect(used.size).toBe(1)
    for (let round = 1; round <= 2; round += 1) {
      await backend.replaceKey()
      expect(await next()).toMatchObject(all('PENDING'))
    }
    for (const id of ids) await cancel(id)
    expect(await next()).toMatchObject(all('CANCELLED'))
    expect(await next()).toEqual([undefined, undefined])
    expect(used.size).toBeGreaterThanOrEqual(3)
  })

  it('renew a token that is rejected when they connect', async () => {
    const backend = await startBackend()
    const tokens = backend.tokensOf('staff')
    await tokens.current()
    await backend.replaceKey()
    const stream = follow(createSubscriptions(url, tokens), await newJob())
    expect(await stream.next()).toMatchObject({ data: { job: { status: 'PENDING' } } })
    stream.stop()
  })

  it('end when they are stopped, and fail if the new token is rejected too', async () => {
    const id = await newJob()
    const stopped = follow(createSubscriptions(url, (await startBackend()).tokensOf('staff')), id)
    await stopped.next()
    stopped.stop()
    expect(await stopped.next()).toBeUndefined()

    const { tokensOf, replaceKey } = await startBackend()
    const token = await tokensOf('staff').current()
    const same = { current: async () => token, renew: async () => Promise.reject(new Error('signed out')) }
    const rejected = follow(createSubscriptions(url, same), id)
    await rejected.next()
    await replaceKey()
    await expect(rejected.next()).rejects.toThrow('signed out')
  })
})

describe('the socket of a page', () => {
  const isSocket = ({ route }: Record<string, unknown>) => route === 'WEBSOCKET /graphql'

  async function openSocket() {
    const backend = await startBackend()
    const tokens = backend.tokensOf('staff')
    const socket = createSocket(url, tokens)
    onTestFinished(() => void socket.dispose())
    let connections = 0
    socket.on('connected', () => {
      connections += 1
    })
    return { backend, tokens, socket, connections: () => connections }
  }

  it('carries all subscriptions, and continues them with a new token when theirs has ended', async () => {
    const { backend, socket, connections } = await openSocket()
    const ids = [await newJob(), await newJob(), await newJob()]
    const follows = ids.map((id) => socket.iterate<{ job: unknown }>({ query: followJob, variables: { id } }))
    const next = async () =>
      (await Promise.all(follows.map((results) => results.next()))).map(({ value }) => value?.data)
    const withStatus = (status: string) => ids.map((id) => ({ job: { id, status } }))
    expect(await next()).toEqual(withStatus('PENDING'))
    expect(connections()).toBe(1)
    await backend.replaceKey()
    expect(await next()).toEqual(withStatus('PENDING'))
    expect(connections()).toBe(2)
    for (const id of ids) await cancel(id)
    expect(await next()).toEqual(withStatus('CANCELLED'))
    for (const results of follows) expect(await results.next()).toEqual({ value: undefined, done: true })
  })

  it('is a link of Apollo Client, next to HTTP', async () => {
    const { tokens, socket } = await openSocket()
    const headers = { authorization: `Bearer ${await tokens.current()}` }
    const link = createSocketLink(socket, new HttpLink({ uri: url, headers }))
    const client = new ApolloClient({ link, cache: new InMemoryCache() })
    onTestFinished(() => client.stop())
    const before = app.log.filter(isSocket).length
    const { data } = await client.query({ query: gql('{ viewer { keyName } }') })
    expect(data).toMatchObject({ viewer: { keyName: 'backend' } })
    expect(app.log.filter(isSocket)).toHaveLength(before)
    const id = await newJob()
    const received: unknown[] = []
    await new Promise<void>((resolve, reject) => {
      client.subscribe({ query: gql(followJob), variables: { id } }).subscribe({
        next({ data }) {
          received.push((data as { job: { status: string } }).job.status)
          void cancel(id)
        },
        error: reject,
        complete: resolve,
      })
    })
    expect(received).toEqual(['PENDING', 'CANCELLED'])
    expect(app.log.filter(isSocket)).toHaveLength(before + 1)
  })

  it('is an exchange of urql', async () => {
    const { socket } = await openSocket()
    const client = new UrqlClient({
      url,
      preferGetMethod: false,
      exchanges: [createSocketExchange(socket), fetchExchange],
    })
    const id = await newJob()
    const received: unknown[] = []
    await new Promise<void>((resolve) => {
      client.subscription(followJob, { id }).subscribe(({ data }) => {
        received.push(data.job.status)
        if (data.job.status === 'CANCELLED') resolve()
        else void cancel(id)
      })
    })
    expect(received).toEqual(['PENDING', 'CANCELLED'])
    expect(app.log.findLast(isSocket)).toMatchObject({ operation: 'Follow', status: 200 })
  })
})

describe('patientFetch', () => {
  it('sends a request again when Retry-After says so', async () => {
    const statuses: number[] = []
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    onTestFinished(() => limited.close())
    const address = await addressOf(limited)
    const first = await subscribe(address, tenant.key, followJob, { id: await newJob() })
    await first.next()
    // The first subscription leaves when the second one has been rejected.
    limited.app.server.on('request', (_, response) =>
      response.once('close', () => {
        statuses.push(response.statusCode)
        first.close()
      }),
    )
    const second = await patientFetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': tenant.key, accept: 'text/event-stream' },
      body: JSON.stringify({ query: followJob, variables: { id: await newJob() } }),
    })
    expect([statuses[0], second.status]).toEqual([429, 200])
    await second.body?.cancel()
  })

  it('gives up when its caller does', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    onTestFinished(() => limited.close())
    const address = await addressOf(limited)
    const first = await subscribe(address, tenant.key, followJob, { id: await newJob() })
    await first.next()
    const given = new AbortController()
    limited.app.server.on('request', (_, response) => response.once('close', () => given.abort(new Error('enough'))))
    const body = JSON.stringify({ query: followJob, variables: { id: await newJob() } })
    const headers = { 'content-type': 'application/json', 'x-api-key': tenant.key, accept: 'text/event-stream' }
    const second = patientFetch(`${address}/graphql`, { method: 'POST', headers, body, signal: given.signal })
    await expect(second).rejects.toThrow('enough')
    first.close()
  })
})

describe('a poll', () => {
  it('returns a resource of the REST interface when it has changed', async () => {
    const tokens = (await startBackend()).tokensOf('staff')
    const { id } = await factoriesFor(app, tenant).user({ name: 'Before' })
    const poll = createPoll(`${url.replace('/graphql', '')}/users/${id}`, tokens)
    expect(await poll()).toMatchObject({ name: 'Before' })
    expect(await poll()).toBeUndefined()
    await app.rest(tenant, 'PUT', `/users/${id}`, { name: 'After' })
    expect(await poll()).toMatchObject({ name: 'After' })
    expect(await poll()).toBeUndefined()
  })
})
