import { hash } from 'node:crypto'
import { decodeJwt, errors } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Viewer } from '../viewer.ts'
import { type AccessTokens, clockToleranceSeconds, invalidToken } from './access-tokens.ts'
import type { TrustedIssuer } from './trusted-issuers.ts'

interface VerifiedToken extends Pick<Viewer, 'scopes' | 'userId'> {
  readonly expiresAt: Date
  /** A key of this gateway, which may have been revoked since, or a trusted issuer. */
  readonly issuedBy:
    | { readonly kind: 'key'; readonly tenantAppId: string; readonly keyId: string }
    | { readonly kind: 'trusted'; readonly holder: Omit<Viewer, 'scopes'> }
}

export type TokenVerifier = ReturnType<typeof createTokenVerifier>

/** How many verified tokens are remembered, because verifying takes longer than a read, and for how long. */
const maxTokens = 10_000
const rememberedMilliseconds = 60_000

/** A longer token does not fit into the headers of a request. */
const maxLength = 16_384

export function createTokenVerifier(accessTokens: AccessTokens, trusted: readonly TrustedIssuer[]) {
  const verified = new LRUCache<string, VerifiedToken>({ max: maxTokens, ttl: rememberedMilliseconds })

  async function verify(token: string): Promise<VerifiedToken> {
    const claims = decodeJwt(token)
    if (claims.iss === accessTokens.issuer) {
      const { tenantAppId, keyId, ...content } = await accessTokens.verify(token)
      return { ...content, issuedBy: { kind: 'key', tenantAppId, keyId } }
    }
    const issuer = trusted.find((one) => one.issuer === claims.iss && [claims.aud].flat().includes(one.audience))
    if (!issuer) throw invalidToken()
    const { holder, ...content } = await issuer.verify(token)
    return { ...content, issuedBy: { kind: 'trusted', holder } }
  }

  return {
    /** @throws GatewayError UNAUTHENTICATED; SERVICE_UNAVAILABLE if the keys of a trusted issuer cannot be read */
    async verify(token: string): Promise<VerifiedToken> {
      if (token.length > maxLength) throw invalidToken()
      const name = hash('sha256', token, 'base64url')
      const found =
        verified.get(name) ??
        (await verify(token).catch((error: unknown) => {
          throw error instanceof errors.JOSEError ? invalidToken() : error
        }))
      if (found.expiresAt.getTime() + clockToleranceSeconds * 1_000 <= Date.now()) {
        verified.delete(name)
        throw invalidToken()
      }
      // The age of a cached token starts with its verification, so a hit does not renew it.
      if (!verified.has(name)) verified.set(name, found)
      return found
    },
  }
}
