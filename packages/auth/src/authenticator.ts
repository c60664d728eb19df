import { GatewayError } from '@fusion-gateway/base'
import type { Sql } from '@fusion-gateway/sql'
import { hashApiKey, isWellFormedApiKey, keyPrefix, type ValidKeys } from './api-keys.ts'
import { invalidToken } from './tokens/access-tokens.ts'
import type { TokenVerifier } from './tokens/token-verifier.ts'
import type { Viewer } from './viewer.ts'

/** The headers of a request that say who sends it. */
export interface Credentials {
  readonly apiKey: string | undefined
  /** The header `authorization`. Only the scheme Bearer is read: proxies add others. */
  readonly authorization: string | undefined
}

export type Authenticator = ReturnType<typeof createAuthenticator>

export function createAuthenticator(keys: ValidKeys, tokens: TokenVerifier) {
  return {
    /**
     * @param sql reads the key, if it is not known yet
     * @throws GatewayError UNAUTHENTICATED, the same for a missing, malformed, unknown, revoked and expired key, and
     *   for any invalid token; TENANT_SUSPENDED for a valid one of a tenant that is suspended; MALFORMED_REQUEST for a
     *   key and a token together
     */
    async authenticate(sql: Sql, { apiKey, authorization }: Credentials): Promise<Viewer> {
      const token = tokenIn(authorization)
      if (token === undefined) return holderOfKey(sql, keys, apiKey)
      if (token.startsWith(keyPrefix)) {
        throw new GatewayError('UNAUTHENTICATED', 'An API key is sent in the header x-api-key, not as a Bearer token.')
      }
      if (apiKey !== undefined) {
        throw new GatewayError('MALFORMED_REQUEST', 'Send an API key or an access token, not both.')
      }
      return holderOfToken(sql, keys, tokens, token)
    },
  }
}

function tokenIn(authorization: string | undefined): string | undefined {
  const match = authorization === undefined ? null : /^bearer(?: +(.*))?$/i.exec(authorization)
  return match ? (match[1] ?? '') : undefined
}

async function holderOfKey(sql: Sql, keys: ValidKeys, key: string | undefined): Promise<Viewer> {
  const viewer = key !== undefined && isWellFormedApiKey(key) ? await keys.byHash(sql, hashApiKey(key)) : undefined
  if (viewer) return viewer
  const message =
    'Send a valid API key in the header x-api-key, or an access token in the header Authorization: Bearer.'
  throw new GatewayError('UNAUTHENTICATED', message)
}

async function holderOfToken(sql: Sql, keys: ValidKeys, tokens: TokenVerifier, token: string): Promise<Viewer> {
  const { issuedBy, ...holder } = await tokens.verify(token)
  const isTrusted = issuedBy.kind === 'trusted'
  const key = await (isTrusted
    ? keys.ofIssuer(sql, issuedBy.holder)
    : keys.byId(sql, issuedBy.tenantAppId, issuedBy.keyId))
  if (!key) throw invalidToken()
  if (isTrusted) return { ...key, ...holder, hasToken: true }
  // A key can lose scopes after it has created a token.
  const scopes = holder.scopes.filter((scope) => key.scopes.includes(scope))
  return { ...key, ...holder, scopes, hasToken: true }
}

/** Whether an error says that a key or token can no longer be used, and not that it cannot be checked now. */
export function isRefusal(error: unknown): error is GatewayError {
  return error instanceof GatewayError && (error.code === 'UNAUTHENTICATED' || error.code === 'TENANT_SUSPENDED')
}

const checkMilliseconds = 1_000

/** Streams whose checks are due within this time are checked together: thousands would each wake the process. */
const togetherMilliseconds = 50

/**
 * Checks a key or token about each second, for streams that may have nothing to send for a long time.
 *
 * @param check rejects with UNAUTHENTICATED when it is no longer valid, and with TENANT_SUSPENDED. After other errors,
 *   such as a database that does not answer, it is checked again
 * @param onInvalid called once
 * @returns stops checking
 */
export function watchCredential(check: () => Promise<unknown>, onInvalid: (reason: GatewayError) => void): () => void {
  let timer: NodeJS.Timeout
  const wait = () => {
    const early = Math.floor(performance.now() % togetherMilliseconds)
    timer = setTimeout(checkNow, checkMilliseconds - early).unref()
  }
  function checkNow(): void {
    wait()
    check().catch((error: unknown) => {
      if (!isRefusal(error)) return
      stop()
      onInvalid(error)
    })
  }
  const stop = () => clearTimeout(timer)
  wait()
  return stop
}
