import { z } from 'zod'
import { isScope, type Scope, scopes } from '../../engine/auth/scopes.ts'
import { maxLifetimeSeconds } from '../../engine/auth/tokens/access-tokens.ts'
import { integer, rule } from '../../engine/input/rules.ts'

const list = scopes.join(', ')

/** A list of scopes, which is not empty. */
export const scopeNames = z
  .array(z.string())
  .check(
    rule('REQUIRED', `must name a scope: ${list}`, (names) => names.length > 0),
    rule('INVALID_FORMAT', `must be scopes: ${list}`, (names) => names.every(isScope)),
  )
  .transform((names) => [...new Set(names)] as Scope[])

/** The input of `createAccessToken`. */
export const newAccessToken = z.object({
  userId: z.string().nullish(),
  scopes: scopeNames.nullish(),
  expiresInSeconds: integer(60, maxLifetimeSeconds).nullish(),
})
