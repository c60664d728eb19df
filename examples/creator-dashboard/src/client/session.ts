import { api } from './api.ts'

/** Somebody who has signed in. */
export interface Session {
  readonly isStaff: boolean
  /** Sends a request to the gateway with a valid token. */
  readonly fetch: typeof fetch
}

interface Token {
  /** The user. Null for staff. */
  readonly userId: string | null
  readonly accessToken: string
  readonly expiresAt: string
}

/** A token that ends this soon is renewed before it is used. */
const renewMilliseconds = 30_000

/** Continues the session of the cookie. Returns null without one. */
export async function resumeSession(onEnd: () => void): Promise<Session | null> {
  const token = await api<Token | null>('GET', '/api/session')
  return token && createSession(token, onEnd)
}

/** @param userId the user, or null for staff */
export async function signIn(userId: string | null, contacts: boolean, onEnd: () => void): Promise<Session> {
  return createSession(await api<Token>('POST', '/api/session', { userId, contacts }), onEnd)
}

export async function signOut(): Promise<void> {
  await api('DELETE', '/api/session')
}

/**
 * Keeps the token in memory only, so that it ends with the page.
 *
 * @param onEnd called when the session has ended and another sign-in is needed
 */
function createSession(first: Token, onEnd: () => void): Session {
  let current = first
  let renewal: Promise<void> | undefined

  async function load(): Promise<void> {
    const token = await api<Token | null>('GET', '/api/session')
    // In another tab, someone else may have signed in.
    if (token?.userId === first.userId) current = token
    else onEnd()
  }

  /** Requests at the same time share one renewal. */
  function renew(): Promise<void> {
    renewal ??= load().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  function send(url: RequestInfo | URL, init: RequestInit | undefined): Promise<Response> {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${current.accessToken}`)
    return fetch(url, { ...init, headers })
  }

  return {
    isStaff: first.userId === null,
    async fetch(url, init) {
      if (Date.parse(current.expiresAt) - Date.now() < renewMilliseconds) await renew()
      const used = current
      const response = await send(url, init)
      if (response.status !== 401) return response
      // A token can end early, with its key. Another request may have renewed it meanwhile.
      if (current === used) await renew()
      const again = current === used ? response : await send(url, init)
      if (again.status === 401) onEnd()
      return again
    },
  }
}
