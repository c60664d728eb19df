import { createSend } from '@fusion-gateway/client/fetch'
import { createTokens } from '@fusion-gateway/client/tokens'
import type { QueryClient } from '@tanstack/query-core'

/** Creates what a page with TanStack Query reads with, and what its button "Sign out" calls. */
export function connect(origin: string, queries: QueryClient) {
  const token = createTokens({ fetchToken: () => fetch(`${origin}/token`, { method: 'POST' }) })
  const send = createSend({
    url: `${origin}/graphql`,
    token,
    // Also when somebody else has signed in, in another tab.
    onPersonChange: () => void queries.resetQueries(),
  })
  async function signOut(): Promise<void> {
    await fetch(`${origin}/session`, { method: 'DELETE' })
    token.signOut()
  }
  return { send, signOut }
}
