import { persistedExchange } from '@urql/exchange-persisted'
import { Client, cacheExchange, fetchExchange } from 'urql'
import { idOf } from './document-id.ts'
import type { Session } from './session.ts'

/** Creates the client of a session. Its cache ends with it. */
export function createClient(session: Session): Client {
  return new Client({
    url: '/graphql',
    exchanges: [cacheExchange, sendIds, fetchExchange],
    fetch: session.fetch,
    preferGetMethod: false,
    fetchSubscriptions: true,
    requestPolicy: 'cache-and-network',
  })
}

/** Sends the ids of operations, and never their texts. */
const sendIds = persistedExchange({
  enforcePersistedQueries: true,
  enableForMutation: true,
  enableForSubscriptions: true,
  preferGetForPersistedQueries: false,
  generateHash: async (_, document) => idOf(document),
})
