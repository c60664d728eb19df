import type { Scope } from '../auth/scopes.ts'
import type { Viewer } from '../auth/viewer.ts'
import { GatewayError } from '../errors.ts'

/** @throws GatewayError FORBIDDEN when the viewer's key lacks the scope */
export function requireScope({ scopes }: Viewer, scope: Scope): void {
  if (!scopes.includes(scope)) throw new GatewayError('FORBIDDEN', `This needs the scope ${scope}.`)
}
