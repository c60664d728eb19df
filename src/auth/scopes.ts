/** What a key may do. A key has any number of these. */
export const scopes = [
  'users:read',
  'users:write',
  'profiles:read',
  'contacts:read',
  'jobs:read',
  'jobs:write',
  'jobs:work',
] as const

export type Scope = (typeof scopes)[number]

/**
 * What a field needs: a scope; or `inherited`, where whoever may reach the object may read the field too.
 */
export type FieldScope = Scope | 'inherited'
