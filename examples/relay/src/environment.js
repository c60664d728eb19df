import { createRelayEnvironment } from '@fusion-gateway/client/relay'
import { createTokens } from '@fusion-gateway/client/tokens'

/** Creates the environment of a page. It sends the ids of operations, and never their texts. */
export function connect(origin) {
  return createRelayEnvironment({
    url: `${origin}/graphql`,
    token: createTokens({ fetchToken: () => fetch(`${origin}/token`, { method: 'POST' }) }),
    documents: 'persisted',
    clientName: 'creator-app',
  })
}
