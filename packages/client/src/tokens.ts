import type { Tokens } from './core.ts'
import { TokenError } from './errors.ts'
import { retryAfterOf } from './waits.ts'

/** Requests take time. */
const maxMarginSeconds = 60

interface Held {
  readonly token: string
  /** In milliseconds of {@link now}. */
  readonly loadedAt: number
  readonly renewAt: number
  readonly endsAt: number
}

/** Milliseconds since 1970 at the start of the tab, and by duration since then: a clock that is set meanwhile changes nothing. */
const now = () => performance.timeOrigin + performance.now()

export type TokensOptions = {
  /** Asks `createTokenHandler`: `() => fetch('/token', { method: 'POST' })`. */
  readonly fetchToken: () => Promise<Response>
} & (
  | { readonly session?: undefined }
  | {
      /**
       * An id of what the person has signed in to, another one for each sign-in. Tabs of a browser with the same session and purpose share
       * their token. Without it, or without a browser's locks, each tab has its own.
       */
      readonly session: string
      /** What the token is for, such as the URL of the gateway and the scopes: other tokens of the session are not taken for it. */
      readonly purpose: string
    }
)

/** What `createTokens` returns: the option `token` of each client. */
export interface PageTokens extends Tokens {
  /**
   * Forgets the token, in all tabs of the session, and what the clients keep of the person: caches, positions, running and waiting
   * requests, WebSockets. Shown queries are read again, with the token that the backend returns then: end the session of your application
   * before you call it.
   */
  signOut(): void
  /** Forgets the token in this tab, and rejects requests from now on. */
  close(): void
}

/**
 * Keeps the access token of a page in memory, where later visitors cannot read it, and replaces it before it ends. Share one for all
 * clients of a page.
 *
 * @returns a function for the option `token`, which returns the token, and another one if it gets the token that the
 *   gateway has rejected. All who wait get the same token
 * @throws Error if `session` or `purpose` is empty: all persons would share the token
 */
export function createTokens(options: TokensOptions): PageTokens {
  const { fetchToken } = options
  const listeners = new Set<() => void>()
  const tabs = createTabs(options, forget)
  let held: Held | undefined
  let pending: Promise<string> | undefined
  let isClosed = false

  async function load(): Promise<Held> {
    const sentAt = now()
    const response = await fetchToken()
    if (!response.ok) throw await tokenErrorOf(response)
    const { accessToken, expiresAt, expiresInSeconds } = await readToken(response)
    // The clock of the device can be wrong, so the duration counts, and that of the server is compared with its own clock.
    const date = Date.parse(response.headers.get('date') ?? '') || Date.now()
    const seconds = expiresInSeconds ?? (Date.parse(expiresAt ?? '') - date) / 1_000
    const endsAt = sentAt + seconds * 1_000
    const renewAt = endsAt - Math.min(maxMarginSeconds, seconds / 4) * 1_000
    return { token: accessToken, loadedAt: sentAt, renewAt, endsAt }
  }

  /** Forgets the person. */
  function forget(): void {
    held = undefined
    pending = undefined
    tabs?.release()
    for (const listener of listeners) listener()
  }

  function renew(rejected?: string): Promise<string> {
    if (pending) return pending
    const isCurrent = () => pending === renewed
    const renewed: Promise<string> = (tabs ? tabs.findOrLoad(load, isCurrent, rejected) : load())
      .then((loaded) => {
        // The person has signed out meanwhile.
        if (!isCurrent()) return token()
        held = loaded
        return loaded.token
      })
      .finally(() => {
        if (isCurrent()) pending = undefined
      })
    pending = renewed
    return renewed
  }

  async function token(rejected?: string): Promise<string> {
    if (isClosed) throw new Error('The tokens are closed.')
    const known = held
    if (!known || known.token === rejected) return renew(rejected)
    if (now() < known.renewAt) return known.token
    // While the backend does not answer, the token is used to its end.
    return renew().catch((error: unknown) => {
      const isUsable = known === held && now() < known.endsAt && !(error instanceof TokenError && error.isSignedOut)
      if (isUsable) return known.token
      throw error
    })
  }

  return Object.assign(token, {
    onSignOut(listener: () => void, signal: AbortSignal) {
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener))
    },
    signOut() {
      tabs?.announce()
      forget()
    },
    close() {
      isClosed = true
      forget()
      listeners.clear()
      tabs?.close()
    },
  })
}

/**
 * Lets the tabs of a session load one token after the other, and find that of another tab. Each holds a lock whose name has its token:
 * names are in memory, only pages of the same origin read them, and they end with their token, or their tab.
 *
 * @param forget is called when another tab signs out
 * @returns undefined without a session, and outside pages: on a server, all persons would have the same locks
 */
function createTabs(options: TokensOptions, forget: () => void) {
  if (options.session === undefined) return undefined
  const { session, purpose } = options
  for (const [name, value] of Object.entries({ session, purpose }))
    if (!value) throw new Error(`The option \`${name}\` is empty: pages of other persons would share the token.`)
  const locks = typeof window === 'undefined' ? undefined : globalThis.navigator?.locks
  if (!locks) return undefined
  const name = `fusion-token ${JSON.stringify([session, purpose])}`
  const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(name)
  let release = () => {}
  /** The tokens of other tabs from before a sign-out are not taken. */
  let signedOutAt = 0
  channel?.addEventListener('message', ({ data }) => {
    signedOutAt = Number(data)
    forget()
  })

  async function find(rejected?: string): Promise<Held | undefined> {
    const { held = [] } = await (locks as LockManager).query()
    const isUsable = ({ token, loadedAt, renewAt }: Held) =>
      token !== rejected && loadedAt >= signedOutAt && now() < renewAt
    return held
      .flatMap((lock) => (lock.name?.startsWith(name) ? readHeld(lock.name.slice(name.length)) : []))
      .find(isUsable)
  }

  /** Shows the token to other tabs. */
  function hold(found: Held): Promise<void> {
    return new Promise((resolve) => {
      const held = () =>
        new Promise<void>((end) => {
          release()
          const timer = setTimeout(end, found.endsAt - now())
          release = () => {
            clearTimeout(timer)
            end()
          }
          resolve()
        })
      void (locks as LockManager).request(`${name} ${JSON.stringify(found)}`, { mode: 'shared' }, held)
    })
  }

  return {
    release: () => release(),
    announce() {
      signedOutAt = now()
      channel?.postMessage(signedOutAt)
    },
    close: () => channel?.close(),
    /** @param isCurrent whether the person is still signed in */
    findOrLoad: (load: () => Promise<Held>, isCurrent: () => boolean, rejected?: string): Promise<Held> =>
      locks
        // A tab that is suspended may hold the lock.
        .request(name, { signal: AbortSignal.timeout(10_000) }, async () => {
          const found = (await find(rejected)) ?? (await load())
          if (isCurrent()) await hold(found)
          return found
        })
        .catch((error: unknown) => {
          if (error instanceof DOMException) return load()
          throw error
        }),
  }
}

/** Reads the token in the name of a lock. Other scripts of the origin can hold locks with any name. */
function readHeld(text: string): Held[] {
  try {
    const { token, loadedAt, renewAt, endsAt } = JSON.parse(text) as Held
    const isHeld = typeof token === 'string' && [loadedAt, renewAt, endsAt].every(Number.isFinite)
    return isHeld ? [{ token, loadedAt, renewAt, endsAt }] : []
  } catch {
    return []
  }
}

interface TokenResponse {
  readonly accessToken: string
  readonly expiresAt?: string
  readonly expiresInSeconds?: number
}

async function readToken(response: Response): Promise<TokenResponse> {
  const { status, url, headers } = response
  const body: unknown = await response.json().catch(() => undefined)
  const { accessToken } = (body ?? {}) as Partial<TokenResponse>
  if (typeof accessToken === 'string' && accessToken) return body as TokenResponse
  const type = headers.get('content-type') ?? 'no content type'
  throw new TokenError(status, `The token backend ${url} answered ${status} without a token (${type}).`)
}

async function tokenErrorOf(response: Response): Promise<TokenError> {
  const { status, url, headers } = response
  // A proxy answers with a page.
  const { code, message = `The token backend ${url} answered ${status}.` } =
    (await response.json().catch(() => undefined)) ?? {}
  return new TokenError(status, message, code, retryAfterOf(headers))
}
