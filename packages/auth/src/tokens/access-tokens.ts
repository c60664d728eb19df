import { randomUUID } from 'node:crypto'
import { GatewayError } from '@fusion-gateway/base'
import { errors, jwtVerify, SignJWT } from 'jose'
import { type SigningKeys, signingAlgorithm } from './signing-keys.ts'

/** The claims of a token about its holder. */
export interface TokenContent {
  readonly tenantAppId: string
  readonly keyId: string
  readonly userId: string | undefined
  readonly scopes: readonly string[]
  readonly expiresAt: Date
}

export type AccessTokens = ReturnType<typeof createAccessTokens>

/**
 * The rejection of a token. It does not say why, because only its issuer should know. @see
 * https://www.rfc-editor.org/rfc/rfc6750#section-3
 */
export function invalidToken(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'The access token is not valid, or has expired.', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}

/** The type of the tokens. @see https://www.rfc-editor.org/rfc/rfc9068 */
const type = 'at+jwt'

/** How long a token can be valid. The public key of a retired pair is kept for longer. */
export const maxLifetimeSeconds = 86_400

/** How far the clocks of gateways and issuers may differ. */
export const clockToleranceSeconds = 5

const requiredClaims = ['exp', 'iat', 'sub', 'jti', 'client_id', 'tenant_app_id', 'scope']

/** @param issuer of the tokens, and their audience */
export function createAccessTokens(keys: SigningKeys, issuer: string) {
  return {
    issuer,
    async sign({ tenantAppId, keyId, userId, scopes, expiresAt }: TokenContent): Promise<string> {
      const { kid, key } = await keys.current()
      return new SignJWT({ client_id: keyId, tenant_app_id: tenantAppId, scope: scopes.join(' ') })
        .setProtectedHeader({ alg: signingAlgorithm, typ: type, kid })
        .setIssuer(issuer)
        .setAudience(issuer)
        .setSubject(userId ?? keyId)
        .setIssuedAt()
        .setExpirationTime(expiresAt)
        .setJti(randomUUID())
        .sign(key)
    },
    /** Sends no statement. @throws JOSEError if the token is not valid now */
    async verify(token: string): Promise<TokenContent> {
      const { payload } = await jwtVerify(
        token,
        async ({ kid }) => {
          const key = kid === undefined ? undefined : await keys.find(kid)
          if (!key) throw new errors.JWKSNoMatchingKey()
          return key
        },
        {
          issuer,
          audience: issuer,
          typ: type,
          algorithms: [signingAlgorithm],
          clockTolerance: clockToleranceSeconds,
          requiredClaims,
        },
      )
      const lifetime = Number(payload.exp) - Number(payload.iat)
      if (lifetime > maxLifetimeSeconds) throw new errors.JWTInvalid('The token is valid for too long')
      const keyId = String(payload['client_id'])
      return {
        tenantAppId: String(payload['tenant_app_id']),
        keyId,
        userId: payload.sub === keyId ? undefined : payload.sub,
        scopes: String(payload['scope']).split(' ').filter(Boolean),
        expiresAt: new Date(Number(payload.exp) * 1_000),
      }
    },
    publicKeys: async () => ({ keys: await keys.publicKeys() }),
  }
}
