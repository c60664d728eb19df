import { GatewayError } from '../errors.ts'
import type { Viewer } from './viewer.ts'

/** The permissions of API keys and access tokens. */
export const scopes = [
  'users:read',
  'users:write',
  'profiles:read',
  'contacts:read',
  'jobs:read',
  'jobs:write',
  'jobs:work',
  'events:read',
  'webhooks:write',
  'usage:read',
  'tokens:create',
  'keys:write',
] as const

export type Scope = (typeof scopes)[number]

/** The scopes that an access token that is bound to a user can have. They concern only that user. */
export const userScopes: readonly Scope[] = [
  'users:read',
  'users:write',
  'profiles:read',
  'contacts:read',
  'events:read',
]

/** The scope that a field needs. `inherited`: access to its object is enough. */
export type FieldScope = Scope | 'inherited'

export function isScope(word: string): word is Scope {
  return scopes.some((scope) => scope === word)
}

/** Reads the scopes of a claim `scope`: words separated by spaces. Words that are no scopes are ignored. */
export function readScopes(words: string): Scope[] {
  return words.split(' ').filter(isScope)
}

/** @throws GatewayError FORBIDDEN if the viewer lacks the scope */
export function requireScope({ scopes: granted }: Viewer, scope: Scope): void {
  if (!granted.includes(scope)) throw forbidden(scope)
}

export function forbidden(scope: Scope): GatewayError {
  return new GatewayError('FORBIDDEN', `This needs the scope ${scope}.`)
}
