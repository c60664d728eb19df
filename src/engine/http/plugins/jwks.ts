import type { AccessTokens } from '../../auth/tokens/access-tokens.ts'
import { routePlugin } from '../plugin.ts'

/**
 * Serves the public keys of access tokens, for servers that verify them. @see https://www.rfc-editor.org/rfc/rfc7517
 */
export const jwks = routePlugin<{ tokens: AccessTokens }>('jwks', (app, { tokens }) => {
  app.route({ method: ['GET', 'HEAD'], url: '/.well-known/jwks.json', handler: () => tokens.publicKeys() })
})
