import type { FastifyInstance } from 'fastify'
import type { AccessTokens } from '../../auth/tokens/access-tokens.ts'

/** Serves the public keys of access tokens, for servers that verify them. @see https://www.rfc-editor.org/rfc/rfc7517 */
export function serveJwks(app: FastifyInstance, tokens: AccessTokens): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/.well-known/jwks.json',
    handler: () => tokens.publicKeys(),
  })
}
