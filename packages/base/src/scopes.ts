import { GatewayError } from './errors.ts'

/** The scopes that fields need, by their names. The domain adds its own by declaration merging (domain/scopes.ts). */
export interface FieldScopes {
  /** Access to the object of the field is enough. */
  readonly inherited: true
}

export type FieldScope = keyof FieldScopes

/** A permission of API keys and access tokens. */
export type Scope = Exclude<FieldScope, 'inherited'>

/** @throws GatewayError FORBIDDEN if the viewer lacks the scope */
export function requireScope({ scopes: granted }: { readonly scopes: readonly string[] }, scope: Scope): void {
  if (!granted.includes(scope)) throw forbidden(scope)
}

export function forbidden(scope: Scope): GatewayError {
  return new GatewayError('FORBIDDEN', `This needs the scope ${scope}.`)
}
