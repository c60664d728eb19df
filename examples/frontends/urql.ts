import { Client, fetchExchange, subscriptionExchange } from '@urql/core'
import { authExchange } from '@urql/exchange-auth'
import { type CacheExchangeOpts, cacheExchange, type UpdateResolver } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import {
  countedFields,
  deletedBy,
  deletingMutations,
  pagedLists,
  parts,
  possibleTypes,
  singletons,
  statistics,
} from './cache-lists.ts'
import { patientFetch } from './patient-fetch.ts'
import { createSubscriptions, type Subscribe } from './subscriptions.ts'
import type { Tokens } from './tokens.ts'

/** Removes what a mutation or an event deletes from the cache, with the lists and numbers that counted it. Pages read these again. */
const forget: UpdateResolver = (result, _, cache) => {
  const deleted = deletedBy(result)
  for (const object of deleted) cache.invalidate(object)
  if (deleted.length === 0) return
  const counted = cache.inspectFields('Query').filter(({ fieldName }) => countedFields.includes(fieldName))
  for (const { fieldName, arguments: args } of counted) cache.invalidate('Query', fieldName, args)
}

/** The options of the cache. Its pages are told apart by all arguments besides `first`, `after`, `last` and `before`. */
const cacheOptions: CacheExchangeOpts = {
  possibleTypes,
  keys: Object.fromEntries([...parts, ...singletons, ...statistics].map((type) => [type, () => null])),
  resolvers: Object.fromEntries(
    Object.entries(pagedLists).map(([type, lists]) => [
      type,
      Object.fromEntries(Object.keys(lists).map((field) => [field, relayPagination()])),
    ]),
  ),
  updates: {
    Mutation: Object.fromEntries(deletingMutations.map((name) => [name, forget])),
    Subscription: { events: forget },
  },
}

/** Creates a urql client for queries, mutations and subscriptions with an access token. */
export function createUrqlClient(url: string, tokens: Tokens): Client {
  const subscribe = createSubscriptions(url, tokens)
  return new Client({
    url,
    fetch: patientFetch,
    preferGetMethod: false,
    exchanges: [
      cacheExchange(cacheOptions),
      authExchange(async ({ appendHeaders }) => {
        let token = await tokens.current()
        return {
          addAuthToOperation: (operation) =>
            appendHeaders(operation, {
              authorization: `Bearer ${token}`,
              ...(operation.kind === 'mutation' && {
                'idempotency-key': operation.context['action'] ?? crypto.randomUUID(),
              }),
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
