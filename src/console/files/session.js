// The credential of the visitor. It stays in the session of the window, which GraphiQL shares if the console opens it.

import { createStore } from './html.js'

const name = 'fusion:credential'

/** The viewer; undefined while it is unknown, null while nobody is signed in. */
export const viewer = createStore(sessionStorage.getItem(name) === null ? null : undefined)

/** Why the visitor has to sign in again. */
export const notice = createStore('')

export function signIn(credential, signedIn) {
  sessionStorage.setItem(name, credential)
  notice.set('')
  viewer.set(signedIn)
}

export function signOut(reason = '') {
  sessionStorage.removeItem(name)
  notice.set(reason)
  viewer.set(null)
}

/** The header that a credential is sent in. Access tokens are JSON Web Tokens. */
export function headersOf(credential = sessionStorage.getItem(name) ?? '') {
  return /^eyJ/.test(credential) ? { authorization: `Bearer ${credential}` } : { 'x-api-key': credential }
}

export const can = (scope) => viewer.get()?.scopes.includes(scope) ?? false
