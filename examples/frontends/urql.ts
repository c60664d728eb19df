import { Client, fetchExchange, subscriptionExchange } from '@urql/core'
import { authExchange } from '@urql/exchange-auth'
import { patientFetch } from './patient-fetch.ts'
import { createSubscriptions, type Subscribe } from './subscriptions.ts'
import type { Tokens } from './tokens.ts'

/** Creates a urql client for queries, mutations and subscriptions with an access token. */
export function createUrqlClient(url: string, tokens: Tokens): Client {
  const subscribe = createSubscriptions(url, tokens)
  return new Client({
    url,
    fetch: patientFetch,
    preferGetMethod: false,
    exchanges: [
      // Your cacheExchange comes first.
      authExchange(async ({ appendHeaders }) => {
        let token = await tokens.current()
        return {
          addAuthToOperation: (operation) =>
            appendHeaders(operation, {
              authorization: `Bearer ${token}`,
              ...(operation.kind === 'mutation' && { 'idempotency-key': crypto.randomUUID() }),
            }),
          didAuthError: ({ graphQLErrors }) =>
            graphQLErrors.some(({ extensions }) => extensions['code'] === 'UNAUTHENTICATED'),
          async refreshAuth() {
            token = await tokens.renew()
          },
        }
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables = {} }) => ({
          subscribe: (sink) => ({ unsubscribe: subscribe({ query, variables }, sink as Parameters<Subscribe>[1]) }),
        }),
      }),
    ],
  })
}
