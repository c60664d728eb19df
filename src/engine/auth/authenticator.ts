import { GatewayError } from '../errors.ts'
import type { ValidKeys } from './api-keys.ts'
import { hashApiKey, isWellFormedApiKey, keyPrefix } from './api-keys.ts'
import { invalidToken } from './tokens/access-tokens.ts'
import type { TokenVerifier } from './tokens/token-verifier.ts'
import type { Viewer } from './viewer.ts'

/** The headers of a request that say who sends it. */
export interface Credentials {
  /** The header `x-api-key`. */
  readonly apiKey: string | undefined
  /** The header `authorization`. Only the scheme Bearer is read: proxies add others. */
  readonly authorization: string | undefined
}

export type Authenticator = ReturnType<typeof createAuthenticator>

/** Finds the holder of an API key or of an access token. */
export function createAuthenticator(keys: ValidKeys, tokens: TokenVerifier) {
  return {
    /**
     * @throws GatewayError UNAUTHENTICATED, the same for a missing, malformed, unknown, revoked and expired key, and
     *   for any invalid token; MALFORMED_REQUEST for a key and a token together
     */
    async authenticate({ apiKey, authorization }: Credentials): Promise<Viewer> {
      const token = tokenIn(authorization)
      if (token === undefined) return holderOfKey(keys, apiKey)
      if (token.startsWith(keyPrefix)) {
        throw new GatewayError('UNAUTHENTICATED', 'An API key is sent in the header x-api-key, not as a Bearer token.')
      }
      if (apiKey !== undefined) {
        throw new GatewayError('MALFORMED_REQUEST', 'Send an API key or an access token, not both.')
      }
      return holderOfToken(keys, tokens, token)
    },
  }
}

function tokenIn(authorization: string | undefined): string | undefined {
  const match = authorization === undefined ? null : /^bearer(?: +(.*))?$/i.exec(authorization)
  return match ? (match[1] ?? '') : undefined
}

async function holderOfKey(keys: ValidKeys, key: string | undefined): Promise<Viewer> {
  const viewer = key !== undefined && isWellFormedApiKey(key) ? await keys.byHash(hashApiKey(key)) : undefined
  if (viewer) return viewer
  const message =
    'Send a valid API key in the header x-api-key, or an access token in the header Authorization: Bearer.'
  throw new GatewayError('UNAUTHENTICATED', message)
}

async function holderOfToken(keys: ValidKeys, tokens: TokenVerifier, token: string): Promise<Viewer> {
  const { issuedBy, ...holder } = await tokens.verify(token)
  if (issuedBy.kind === 'trusted') return { ...issuedBy.holder, ...holder, hasToken: true }
  const key = await keys.byId(issuedBy.tenantAppId, issuedBy.keyId)
  if (!key) throw invalidToken()
  // A key can lose scopes after it has created a token.
  const scopes = holder.scopes.filter((scope) => key.scopes.includes(scope))
  return { ...key, ...holder, scopes, hasToken: true }
}

const checkMilliseconds = 1_000

/**
 * Checks a key or token each second, for streams that may have nothing to send for a long time.
 *
 * @param check rejects with UNAUTHENTICATED when it is no longer valid. After other errors, such as a database that
 *   does not answer, it is checked again
 * @param onInvalid called once
 * @returns stops checking
 */
export function watchCredential(check: () => Promise<unknown>, onInvalid: (reason: GatewayError) => void): () => void {
  const timer = setInterval(() => {
    check().catch((error: unknown) => {
      if (!(error instanceof GatewayError && error.code === 'UNAUTHENTICATED')) return
      clearInterval(timer)
      onInvalid(error)
    })
  }, checkMilliseconds).unref()
  return () => clearInterval(timer)
}
