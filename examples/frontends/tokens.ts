/** The access token of a page. */
export interface Tokens {
  /** The token, renewed if it expires soon. */
  current(): Promise<string>
  /** Replaces a token that the gateway has rejected. */
  renew(): Promise<string>
}

/** Requests take time, and clocks differ. */
const marginMilliseconds = 60_000

/**
 * Keeps a token in memory, where other pages and later visitors cannot read it.
 *
 * @param request asks your backend: `() => fetch('/token', { method: 'POST' })`
 */
export function createTokens(request: () => Promise<Response>): Tokens {
  let held: { accessToken: string; expiresAt: string } | undefined
  let pending: Promise<string> | undefined

  async function load(): Promise<string> {
    const response = await request()
    if (!response.ok) throw new Error(`The backend answered ${response.status} instead of a token.`)
    held = (await response.json()) as { accessToken: string; expiresAt: string }
    return held.accessToken
  }

  /** All who wait get the same token. */
  function renew(): Promise<string> {
    pending ??= load().finally(() => {
      pending = undefined
    })
    return pending
  }

  return {
    async current() {
      const isFresh = held && Date.parse(held.expiresAt) - Date.now() > marginMilliseconds
      return held && isFresh ? held.accessToken : renew()
    },
    renew,
  }
}
