import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client/core'
import { SetContextLink } from '@apollo/client/link/context'
import { relayStylePagination } from '@apollo/client/utilities'
import { defer, retry, tap } from 'rxjs'
import { patientFetch } from './patient-fetch.ts'
import type { Tokens } from './tokens.ts'

/** Whether an error, or one of the errors that a client received, has this code. */
export function hasCode(error: unknown, code: string): boolean {
  return CombinedGraphQLErrors.is(error) && error.errors.some(({ extensions }) => extensions?.['code'] === code)
}

/** Creates an Apollo Client for queries, mutations and subscriptions with an access token. */
export function createApolloClient(uri: string, tokens: Tokens): ApolloClient {
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
  const setHeaders = new SetContextLink(async ({ headers }, { operationType }) => ({
    headers: {
      ...headers,
      authorization: `Bearer ${await tokens.current()}`,
      ...(operationType === 'mutation' && { 'idempotency-key': crypto.randomUUID() }),
    },
  }))
  return new ApolloClient({
    link: ApolloLink.from([renewToken, setHeaders, new HttpLink({ uri, fetch: patientFetch })]),
    cache: createCache(),
  })
}

function createCache(): InMemoryCache {
  return new InMemoryCache({
    typePolicies: {
      Query: {
        fields: {
          accounts: relayStylePagination(['filter', 'orderBy']),
          jobs: relayStylePagination(['filter', 'orderBy']),
          searchProfiles: relayStylePagination(['filter', 'orderBy']),
          users: relayStylePagination(['filter', 'orderBy']),
          // A user of a list is in the cache already.
          user: {
            read: (known, { args, toReference }) =>
              known === undefined ? toReference({ __typename: 'User', id: String(args?.['id']) }) : known,
          },
        },
      },
      // Each event of `jobs` has the jobs that have changed.
      Subscription: { fields: { jobs: { merge: false } } },
      // They have no id, because there is one of each.
      TenantStats: { keyFields: [] },
      Viewer: { keyFields: [] },
    },
  })
}
