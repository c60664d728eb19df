import type { Tokens } from './core.ts'
import { TokenError } from './errors.ts'

/** Requests take time. */
const maxMarginSeconds = 60

/**
 * Keeps the access token of a page in memory, where other pages and later visitors cannot read it, and replaces it
 * before it ends. Share one for all clients of a page.
 *
 * @param options.fetchToken asks `createTokenHandler`: `() => fetch('/token', { method: 'POST' })`
 * @returns a function for the option `token`, which returns the token, and another one if it gets the token that the
 *   gateway has rejected. All who wait get the same token
 */
export function createTokens(options: { readonly fetchToken: () => Promise<Response> }): Tokens {
  let held: { readonly token: string; readonly renewAt: number; readonly endsAt: number } | undefined
  let pending: Promise<string> | undefined

  async function load(): Promise<string> {
    const sentAt = performance.now()
    const response = await options.fetchToken()
    if (!response.ok) throw await tokenErrorOf(response)
    const { accessToken, expiresAt, expiresInSeconds } = (await response.json()) as TokenResponse
    if (!accessToken) throw new TokenError(response.status, 'The token backend answered without a token.')
    // The clock of the device can be wrong, so the duration counts, and that of the server is compared with its own clock.
    const now = Date.parse(response.headers.get('date') ?? '') || Date.now()
    const seconds = expiresInSeconds ?? (Date.parse(expiresAt ?? '') - now) / 1_000
    const endsAt = sentAt + seconds * 1_000
    held = { token: accessToken, endsAt, renewAt: endsAt - Math.min(maxMarginSeconds, seconds / 4) * 1_000 }
    return accessToken
  }

  function renew(): Promise<string> {
    pending ??= load().finally(() => {
      pending = undefined
    })
    return pending
  }

  return async (rejected) => {
    const known = held
    if (!known || known.token === rejected) return renew()
    if (performance.now() < known.renewAt) return known.token
    // While the backend does not answer, the token is used to its end.
    return renew().catch((error: unknown) => {
      const isUsable = performance.now() < known.endsAt && !(error instanceof TokenError && error.isSignedOut)
      if (isUsable) return known.token
      throw error
    })
  }
}

interface TokenResponse {
  readonly accessToken?: string
  readonly expiresAt?: string
  readonly expiresInSeconds?: number
}

async function tokenErrorOf(response: Response): Promise<TokenError> {
  const { status, headers } = response
  // A proxy answers with a page.
  const { code, message = `The token backend answered ${status}.` } = await response.json().catch(() => ({}))
  const retryAfter = headers.get('retry-after')
  return new TokenError(status, message, code, retryAfter === null ? undefined : Number(retryAfter))
}
