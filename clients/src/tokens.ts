import type { Tokens } from './core.ts'
import { TokenError } from './errors.ts'
import { retryAfterOf } from './waits.ts'

/** Requests take time. */
const maxMarginSeconds = 60

interface Held {
  readonly token: string
  /** In milliseconds of {@link now}. */
  readonly renewAt: number
  readonly endsAt: number
}

/** Milliseconds since 1970 at the start of the tab, and by duration since then: a clock that is set meanwhile changes nothing. */
const now = () => performance.timeOrigin + performance.now()

/**
 * Keeps the access token of a page in memory, where later visitors cannot read it, and replaces it before it ends. Share one for all
 * clients of a page.
 *
 * @param options.fetchToken asks `createTokenHandler`: `() => fetch('/token', { method: 'POST' })`
 * @param options.session an id of what the person has signed in to, another one for each sign-in. Tabs with the same session share their
 *   token. Without it, or without a browser's locks, each tab has its own
 * @returns a function for the option `token`, which returns the token, and another one if it gets the token that the
 *   gateway has rejected. All who wait get the same token
 */
export function createTokens({ fetchToken, session }: TokensOptions): Tokens {
  const locks = globalThis.navigator?.locks
  const next = session !== undefined && locks ? createShared(locks, session, load) : load
  let held: Held | undefined
  let pending: Promise<string> | undefined

  async function load(): Promise<Held> {
    const sentAt = now()
    const response = await fetchToken()
    if (!response.ok) throw await tokenErrorOf(response)
    const { accessToken, expiresAt, expiresInSeconds } = (await response.json()) as TokenResponse
    if (!accessToken) throw new TokenError(response.status, 'The token backend answered without a token.')
    // The clock of the device can be wrong, so the duration counts, and that of the server is compared with its own clock.
    const date = Date.parse(response.headers.get('date') ?? '') || Date.now()
    const seconds = expiresInSeconds ?? (Date.parse(expiresAt ?? '') - date) / 1_000
    const endsAt = sentAt + seconds * 1_000
    return { token: accessToken, endsAt, renewAt: endsAt - Math.min(maxMarginSeconds, seconds / 4) * 1_000 }
  }

  function renew(rejected?: string): Promise<string> {
    pending ??= next(rejected)
      .then((loaded) => {
        held = loaded
        return loaded.token
      })
      .finally(() => {
        pending = undefined
      })
    return pending
  }

  return async (rejected) => {
    const known = held
    if (!known || known.token === rejected) return renew(rejected)
    if (now() < known.renewAt) return known.token
    // While the backend does not answer, the token is used to its end.
    return renew().catch((error: unknown) => {
      const isUsable = now() < known.endsAt && !(error instanceof TokenError && error.isSignedOut)
      if (isUsable) return known.token
      throw error
    })
  }
}

interface TokensOptions {
  readonly fetchToken: () => Promise<Response>
  readonly session?: string
}

/**
 * Lets the tabs of a session load one token after the other, and find that of another tab. Each holds a lock whose name has its token:
 * names are in memory, only pages of the same origin read them, and they end with their tab.
 */
function createShared(locks: LockManager, session: string, load: () => Promise<Held>) {
  const name = `fusion-token ${session}`
  let release = () => {}

  async function findOrLoad(rejected?: string): Promise<Held> {
    const { held: locked = [] } = await locks.query()
    const texts = locked.flatMap((lock) => (lock.name?.startsWith(`${name} {`) ? [lock.name.slice(name.length)] : []))
    const tokens = texts.map((text) => JSON.parse(text) as Held)
    const found = tokens.find(({ token, renewAt }) => token !== rejected && now() < renewAt) ?? (await load())
    await new Promise<void>((resolve) => {
      const hold = () => {
        release()
        resolve()
        return new Promise<void>((end) => {
          release = end
        })
      }
      void locks.request(`${name} ${JSON.stringify(found)}`, { mode: 'shared' }, hold)
    })
    return found
  }

  return (rejected?: string): Promise<Held> =>
    // A tab that is suspended may hold the lock.
    locks
      .request(name, { signal: AbortSignal.timeout(10_000) }, () => findOrLoad(rejected))
      .catch((error: unknown) => {
        if (error instanceof DOMException) return load()
        throw error
      })
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
  return new TokenError(status, message, code, retryAfterOf(headers))
}
