import type { Scope } from '@fusion-gateway/base'

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

declare module '@fusion-gateway/base' {
  interface FieldScopes extends Record<(typeof scopes)[number], true> {}
}

/** The scopes that an access token that is bound to a user can have. They concern only that user. */
export const userScopes: readonly Scope[] = [
  'users:read',
  'users:write',
  'profiles:read',
  'contacts:read',
  'events:read',
]

export function isScope(word: string): word is Scope {
  return scopes.some((scope) => scope === word)
}
