import { createTokens } from '@fusion-gateway/client/tokens'
import { api } from './api.ts'

/** Somebody who has signed in. */
export interface Session {
  readonly isStaff: boolean
  /** The access token, in memory only, so that it ends with the page. */
  readonly token: (rejected?: string) => Promise<string>
  /** Called when the session has ended and another sign-in is needed. */
  readonly onEnd: () => void
}

/** What the backend answers. */
interface Token {
  /** The user. Null for staff. */
  readonly userId: string | null
}

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

function createSession(first: Token, onEnd: () => void): Session {
  let next: Token | undefined = first

  async function fetchToken(): Promise<Response> {
    if (next) {
      const response = Response.json(next)
      next = undefined
      return response
    }
    const response = await fetch('/api/session')
    const token: Token | null = response.ok ? await response.clone().json() : first
    // In another tab, someone else may have signed in.
    return token?.userId === first.userId ? response : new Response(null, { status: 401 })
  }

  return { isStaff: first.userId === null, token: createTokens({ fetchToken }), onEnd }
}
