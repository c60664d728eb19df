// The credential of the visitor. It stays in the session of the window, which GraphiQL shares if the console opens it.

import { createStore } from './html.ts'
import type { Scope, ViewerQuery } from './operations.generated.ts'

const name = 'fusion:credential'

export type Viewer = NonNullable<ViewerQuery['viewer']>

/** The viewer; undefined while it is unknown, null while nobody is signed in. */
export const viewer = createStore<Viewer | null | undefined>(sessionStorage.getItem(name) === null ? null : undefined)

/** Why the visitor has to sign in again. */
export const notice = createStore('')

export function signIn(credential: string, signedIn: Viewer | null): void {
  sessionStorage.setItem(name, credential)
  notice.set('')
  viewer.set(signedIn)
}

export function signOut(reason = ''): void {
  sessionStorage.removeItem(name)
  notice.set(reason)
  viewer.set(null)
}

/** The header that a credential is sent in. Access tokens are JSON Web Tokens. */
export function headersOf(credential = sessionStorage.getItem(name) ?? ''): Readonly<Record<string, string>> {
  return /^eyJ/.test(credential) ? { authorization: `Bearer ${credential}` } : { 'x-api-key': credential }
}

export const can = (scope: Scope) => viewer.get()?.scopes.includes(scope) ?? false
