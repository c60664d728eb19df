import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client/core'
import { SetContextLink } from '@apollo/client/link/context'
import { relayStylePagination } from '@apollo/client/utilities'
import { defer, retry, tap } from 'rxjs'
import { countedFields, deletedBy, pagedLists, possibleTypes, singletons, statistics } from './cache-lists.ts'
import { patientFetch } from './patient-fetch.ts'
import { pathOf } from './send.ts'
import type { Tokens } from './tokens.ts'

/** Whether an error, or one of the errors that a client received, has this code. */
export function hasCode(error: unknown, code: string): boolean {
  return CombinedGraphQLErrors.is(error) && error.errors.some(({ extensions }) => extensions?.['code'] === code)
}

/** Creates an Apollo Client for queries, mutations and subscriptions with an access token. */
export function createApolloClient(uri: string, tokens: Tokens, withheld = new Withheld()): ApolloClient {
  // Also a subscription whose token expires starts again, with a new token.
  const renewToken = new ApolloLink((operation, forward) =>
    defer(() => forward(operation)).pipe(
      tap((result) => {
        const error = new CombinedGraphQLErrors(result)
        if (hasCode(error, 'UNAUTHENTICATED')) throw error
      }),
      retry({
        count: 1,
        resetOnSuccess: true,
        async delay(error) {
          if (!hasCode(error, 'UNAUTHENTICATED')) throw error
          await tokens.renew()
        },
      }),
    ),
  )
  // `context: { action }` is the idempotency key of what a person did. Other mutations have one of their own.
  const setHeaders = new SetContextLink(async ({ headers, action = crypto.randomUUID() }, { operationType }) => ({
    headers: {
      ...headers,
      authorization: `Bearer ${await tokens.current()}`,
      ...(operationType === 'mutation' && { 'idempotency-key': action }),
    },
  }))
  const http = new HttpLink({ uri, fetch: patientFetch })
  return new ApolloClient({
    link: ApolloLink.from([renewToken, withheld.link, createForgettingLink(), setHeaders, http]),
    cache: createCache(),
  })
}

/** The lists that the cache stores under these arguments, and joins page by page. */
const joinPages = (lists: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(lists).map(([field, keys]) => [field, relayStylePagination([...keys])]))

function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes,
    typePolicies: {
      ...Object.fromEntries(singletons.map((type) => [type, { keyFields: [] }])),
      ...Object.fromEntries(statistics.map((type) => [type, { merge: true }])),
      Query: {
        fields: {
          ...joinPages(pagedLists.Query),
          // A user of a list is in the cache already.
          user: {
            read: (known, { args, toReference }) =>
              known === undefined ? toReference({ __typename: 'User', id: String(args?.['id']) }) : known,
          },
        },
      },
      // Lists without pages are replaced.
      User: { fields: { ...joinPages(pagedLists.User), accounts: { merge: false } } },
      Profile: { fields: { emails: { merge: false } } },
      Webhook: { fields: joinPages(pagedLists.Webhook) },
      // Each event of `jobs` has the jobs that have changed.
      Subscription: { fields: { jobs: { merge: false } } },
    },
  })
}

/** Removes what mutations and events delete from the cache, with the lists and numbers that counted it. Pages read these again. */
function createForgettingLink(): ApolloLink {
  return new ApolloLink((operation, forward) =>
    forward(operation).pipe(
      tap(({ data }) => {
        if (operation.operationType === 'query') return
        const { cache } = operation.client
        const deleted = deletedBy(data)
        cache.batch({
          update() {
            for (const object of deleted) cache.evict({ id: String(cache.identify(object)) })
            if (deleted.length > 0) for (const fieldName of countedFields) cache.evict({ id: 'ROOT_QUERY', fieldName })
          },
        })
      }),
    ),
  )
}

/**
 * Remembers which fields the token may not read. The cache keeps their null, but not the error: a page that reads them a second time
 * could not tell them from unknown values.
 */
export class Withheld {
  readonly #paths = new Map<string, Set<string>>()

  /** The link that listens to responses. */
  readonly link = new ApolloLink((operation, forward) =>
    forward(operation).pipe(
      tap(({ errors = [] }) => {
        const forbidden = errors.filter(({ extensions }) => extensions?.['code'] === 'FORBIDDEN').map(pathOf)
        const name = operation.operationName ?? ''
        this.#paths.set(name, new Set([...this.of(name), ...forbidden]))
      }),
    ),
  )

  /** The paths of an operation, without positions: `users.edges.node.email`. */
  of(operationName: string): ReadonlySet<string> {
    return this.#paths.get(operationName) ?? new Set()
  }
}
