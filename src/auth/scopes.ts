import { GatewayError } from '../errors.ts'
import type { Viewer } from './viewer.ts'

/** What API keys can be allowed to do. */
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

/** What a field needs: a scope, or nothing beyond access to its object (`inherited`). */
export type FieldScope = Scope | 'inherited'

/** @throws GatewayError FORBIDDEN if the viewer lacks the scope */
export function requireScope({ scopes: granted }: Viewer, scope: Scope): void {
  if (!granted.includes(scope)) throw new GatewayError('FORBIDDEN', `This needs the scope ${scope}.`)
}
