import { type ApolloClient, gql } from '@apollo/client/core'
import { createApolloClient } from '@fusion-gateway/client/apollo'
import { createTokenHandler, type TokenInput } from '@fusion-gateway/client/server'
import { createTokens } from '@fusion-gateway/client/tokens'
import { createUrqlClient } from '@fusion-gateway/client/urql'
import { onTestFinished } from 'vitest'
import { createKey, revokeKey } from '../../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../../../test/support/app.ts'
import { addressOf } from '../../../test/support/events.ts'
import { factoriesFor } from '../../../test/support/factories.ts'
import type { ClientOptions } from '../src/core.ts'

/** A gateway that the libraries of clients are connected to. */
export interface Stage {
  readonly app: TestApp
  readonly url: string
}

export async function startStage(): Promise<Stage> {
  const app = await startTestApp({ batching: true })
  return { app, url: `${await addressOf(app)}/graphql` }
}

export const allScopes = ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'jobs:read', 'events:read']

/** A person who has signed in at a tenant of their own. */
export async function signIn({ app, url }: Stage, scopes: readonly string[] = allScopes) {
  const tenant: TestTenant = await app.createTenant()
  const newKey = () => createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'backend' })
  let key = await newKey()
  let input: TokenInput | undefined = { scopes }
  const token = createTokens({
    fetchToken: () => createTokenHandler({ url, apiKey: key.key, inputFor: async () => input })(new Request(url)),
  })
  /** The requests with an operation, which can be answered in place of the gateway. */
  const answers: { name: string; answer: (forward: () => Promise<Response>) => Promise<Response> }[] = []
  const sent: { readonly body: string; readonly headers: Headers; readonly signal: RequestInit['signal'] }[] = []
  const forward = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const request = { body: String(init?.body ?? ''), headers: new Headers(init?.headers), signal: init?.signal }
    if (String(input) === url && !request.headers.has('x-api-key')) sent.push(request)
    const index = answers.findIndex(({ name }) => request.body.includes(name))
    const [answer] = index < 0 ? [] : answers.splice(index, 1)
    return answer ? answer.answer(() => forward(input, init)) : forward(input, init)
  }
  onTestFinished(() => {
    globalThis.fetch = forward
  })
  return {
    tenant,
    create: factoriesFor(app, tenant),
    options: { url, token, clientName: 'test' } satisfies ClientOptions,
    /** Another user signs in at the token backend, or nobody is signed in. The page does not know it. */
    become(userId: string | undefined) {
      input = userId === undefined ? undefined : { scopes, userId }
    },
    /** The requests that were sent with a name in their body. */
    requestsOf: (name: string) => sent.filter(({ body }) => body.includes(name)),
    sent,
    /** Answers the next request with this name in its body. */
    answerOnce(name: string, answer: (forward: () => Promise<Response>) => Promise<Response>) {
      answers.push({ name, answer })
    },
    /** Rejects all tokens that exist. */
    async replaceKey() {
      const old = key
      key = await newKey()
      await revokeKey(app.database, old.row.id)
    },
    /** Sends an operation with the key of the tenant. */
    run: <Data>(query: string, variables: object = {}) => app.graphql<Data>(tenant, query, { ...variables }),
  }
}

export type Person = Awaited<ReturnType<typeof signIn>>

export interface Shown {
  readonly data?: unknown
  readonly error?: unknown
}

/** A client library, as a page uses it. */
export interface Library {
  /** What a page shows that opens and reads once. */
  read(document: string, variables?: object, isFromCache?: boolean): Promise<Shown>
  /** What a page shows that stays open. */
  watch(
    document: string,
    variables: object,
  ): { shown(): Shown | undefined; more(variables: object): Promise<unknown>; close(): void }
  mutate(document: string, variables: object, action?: string): Promise<Shown>
  follow(document: string, variables: object, next: (shown: Shown) => void): void
  /** Set by Apollo Client, whose cache keeps fields that are withheld. */
  readonly apollo?: ApolloClient
}

export const libraries = {
  'Apollo Client'(options: ClientOptions): Library {
    const apollo = createApolloClient(options)
    onTestFinished(() => apollo.stop())
    return {
      apollo,
      read: (document, variables = {}, isFromCache = false) =>
        apollo.query({ query: gql(document), variables, fetchPolicy: isFromCache ? 'cache-only' : 'cache-first' }),
      watch(document, variables) {
        const list = apollo.watchQuery({ query: gql(document), variables })
        let last: Shown | undefined
        const subscription = list.subscribe((shown) => {
          last = shown
        })
        onTestFinished(() => subscription.unsubscribe())
        return {
          shown: () => last,
          more: (next) => list.fetchMore({ variables: next }),
          close: () => subscription.unsubscribe(),
        }
      },
      mutate: (document, variables, action) =>
        apollo.mutate({ mutation: gql(document), variables, ...(action && { context: { action } }) }) as Promise<Shown>,
      follow: (document, variables, next) => void apollo.subscribe({ query: gql(document), variables }).subscribe(next),
    }
  },
  urql(options: ClientOptions): Library {
    const client = createUrqlClient(options)
    return {
      read: (document, variables = {}, isFromCache = false) =>
        client.query(document, variables, { requestPolicy: isFromCache ? 'cache-only' : 'cache-first' }).toPromise(),
      watch(document, variables) {
        let last: Shown | undefined
        const { unsubscribe } = client.query(document, variables).subscribe((shown) => {
          last = shown
        })
        onTestFinished(unsubscribe)
        const more = (next: object) => client.query(document, { ...variables, ...next }).toPromise()
        return { shown: () => last, more, close: unsubscribe }
      },
      mutate: (document, variables, action) =>
        client.mutation(document, variables, action ? { action } : {}).toPromise(),
      follow(document, variables, next) {
        onTestFinished(client.subscription(document, variables).subscribe(next).unsubscribe)
      },
    }
  },
}

export const documents = {
  users: `query Users($search: String, $thenBy: [UserOrder!], $after: String) {
    users(first: 2, after: $after, filter: { search: $search }, orderBy: { field: NAME, direction: ASC }, thenBy: $thenBy) {
      totalCount
      edges { node { id name } }
      pageInfo { endCursor hasNextPage }
    }
  }`,
  /** The lists of an object, with and without pages, and by nodes alone. */
  accounts: `query Accounts($id: ID!, $after: String) {
    user(id: $id) {
      id
      accounts { id }
      accountsConnection(first: 2, after: $after) { totalCount nodes { id } pageInfo { endCursor } }
    }
  }`,
  contact: 'query Contact($id: ID!) { user(id: $id) { id name email } }',
  rename:
    'mutation Rename($id: ID!, $name: String!) { updateUser(input: { id: $id, name: $name }) { user { id name } } }',
  create: `mutation Create($name: String!) {
    createUser(input: { name: $name, email: "a@example.com", phone: "1" }) { user { id } userErrors { code } }
  }`,
  unlink: 'mutation Unlink($id: ID!) { unlinkAccount(input: { id: $id }) { unlinkedAccountId } }',
  remove: 'mutation Remove($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }',
  events: 'subscription Events($after: ID) { events(after: $after) { id type resourceId userId } }',
  job: 'subscription FollowJob($id: ID!) { job(id: $id) { id status } }',
}

/** A user with three accounts, of which one has the id of the user. */
export async function manyAccounts({ create }: Person) {
  const user = await create.user({ name: `Many ${crypto.randomUUID()}` })
  const ids: string[] = []
  for (const day of [1, 2, 3]) {
    const createdAt = new Date(`2026-01-0${day}`)
    ids.push((await create.account(user.id, { createdAt, ...(day === 1 && { id: user.id }) })).id)
  }
  return { user, ids }
}

/** A response to an operation whose field could not be read at the moment. */
export const failed =
  (data: object, ...path: (string | number)[]) =>
  async () =>
    Response.json({ data, errors: [{ message: 'Later.', path, extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
