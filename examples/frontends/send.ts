import { createSend, type Send } from '@fusion-gateway/client/fetch'
import { createTokens } from '@fusion-gateway/client/tokens'

/** Creates what the components of a page read and write with. */
export function connect(origin: string): Send {
  return createSend({
    url: `${origin}/graphql`,
    token: createTokens({ fetchToken: () => fetch(`${origin}/token`, { method: 'POST' }) }),
    clientName: 'creator-app',
    onWait: (until) => document.body.classList.toggle('waiting', until !== undefined),
    onSignedOut: () => location.assign('/sign-in'),
  })
}
