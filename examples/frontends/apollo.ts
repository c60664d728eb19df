import type { ApolloClient } from '@apollo/client/core'
import { createApolloClient, withheld } from '@fusion-gateway/client/apollo'
import { createTokens } from '@fusion-gateway/client/tokens'

/** Creates the client of a page. */
export function connect(origin: string): ApolloClient {
  return createApolloClient({
    url: `${origin}/graphql`,
    token: createTokens({ fetchToken: () => fetch(`${origin}/token`, { method: 'POST' }) }),
    clientName: 'creator-app',
    onSignedOut: () => location.assign('/sign-in'),
  })
}

interface User {
  readonly user: { readonly email: string | null } | null
}

/** What a page shows of `query User($id: ID!) { user(id: $id) { id email } }`. */
export function emailOf(client: ApolloClient, data: User): string {
  return data.user?.email ?? (withheld(client, data, 'user.email') ? 'You may not see it' : 'Unknown')
}
