import { createTokens } from '@fusion-gateway/client/tokens'
import { createUrqlClient, withheld } from '@fusion-gateway/client/urql'
import type { Client, OperationResult } from '@urql/core'

/** Creates the client of a page. */
export function connect(origin: string): Client {
  return createUrqlClient({
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
export function emailOf({ data, error }: OperationResult<User>): string {
  return data?.user?.email ?? (withheld(error, 'user.email') ? 'You may not see it' : 'Unknown')
}
