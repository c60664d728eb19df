import { maxLifetimeSeconds, type Viewer } from '@fusion-gateway/auth'
import { invalidField, type Scope } from '@fusion-gateway/base'
import type { Context } from '@fusion-gateway/gateway-kit'
import { integer, listOf, parseInput, rule } from '@fusion-gateway/input'
import { isPossibleId } from '@fusion-gateway/sql'
import { z } from 'zod'
import { isScope, scopes, userScopes } from '../scopes.ts'
import { userNotFound } from '../user/user.service.ts'

const list = scopes.join(', ')

/** A list of scopes, which is not empty. */
export const scopeNames = listOf(z.string())
  .check(
    rule('REQUIRED', `must name a scope: ${list}`, (names) => names.length > 0),
    rule('INVALID_FORMAT', `must be scopes: ${list}`, (names) => names.every(isScope)),
  )
  .transform((names) => [...new Set(names)] as Scope[])

const newAccessToken = z.object({
  userId: z.string().nullish(),
  scopes: scopeNames.nullish(),
  expiresInSeconds: integer(60, maxLifetimeSeconds).nullish(),
})

/** An access token, which is stored nowhere. */
export interface NewAccessToken {
  readonly accessToken: string
  readonly expiresAt: Date
}

const defaultSeconds = 3_600

/**
 * Creates an access token, for a user or for the tenant. It does not outlive the key or the token of the viewer.
 *
 * @throws GatewayError BAD_USER_INPUT: a scope that the viewer or a token for a user cannot have, OUT_OF_RANGE for the
 *   lifetime, NOT_FOUND for the user
 */
export async function createAccessToken(
  { viewer, db, tokens }: Context,
  input: z.input<typeof newAccessToken>,
): Promise<NewAccessToken> {
  const { userId, scopes: requested, expiresInSeconds } = parseInput(newAccessToken, input)
  const allowed = allowedScopes(viewer, userId != null)
  const granted = requested ?? allowed.filter((scope) => scope.endsWith(':read'))
  const refused = granted.filter((scope) => !allowed.includes(scope))
  if (refused.length > 0) {
    const reason =
      userId == null ? 'must be scopes of the key' : 'must be scopes of the key that a token for a user can have'
    throw invalidField('scopes', 'OUT_OF_RANGE', `${reason}, and not ${refused.join(', ')}`)
  }
  if (granted.length === 0)
    throw invalidField('scopes', 'REQUIRED', 'is required, because the key has no scope that reads')
  if (userId != null) await requireUser({ viewer, db }, userId)
  const { tenantAppId, keyId } = viewer
  const expiresAt = earliest(Date.now() + (expiresInSeconds ?? defaultSeconds) * 1_000, viewer.expiresAt)
  const content = { tenantAppId, keyId, userId: userId ?? undefined, scopes: granted, expiresAt }
  return { accessToken: await tokens.sign(content), expiresAt }
}

function allowedScopes(viewer: Viewer, isForUser: boolean): Scope[] {
  return viewer.scopes.filter(isScope).filter((scope) => !isForUser || userScopes.includes(scope))
}

async function requireUser({ viewer, db }: Pick<Context, 'viewer' | 'db'>, userId: string): Promise<void> {
  // A token without a user has the id of its key in the same claim.
  const isPossible = isPossibleId(userId) && userId !== viewer.keyId
  if (!isPossible || !(await db.user.findFirst({ where: { id: userId }, select: { id: true } })))
    throw userNotFound('userId')
}

/** A token states its expiry in whole seconds. */
function earliest(time: number, limit: Date | undefined): Date {
  return new Date(Math.floor(Math.min(time, limit?.getTime() ?? time) / 1_000) * 1_000)
}
