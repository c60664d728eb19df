import type { z } from 'zod'
import { isScope, type Scope, userScopes } from '../../engine/auth/scopes.ts'
import type { Viewer } from '../../engine/auth/viewer.ts'
import type { Context } from '../../engine/context.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { userNotFound } from '../user/user.service.ts'
import { newAccessToken } from './access-token.input.ts'

/** An access token, which is stored nowhere. */
export interface NewAccessToken {
  readonly accessToken: string
  readonly expiresAt: Date
}

const defaultSeconds = 3_600

/**
 * Creates an access token, for a user or for the tenant. It does not outlive the key or the token of the viewer.
 *
 * @throws GatewayError BAD_USER_INPUT: a scope that the viewer or a token for a user cannot have, OUT_OF_RANGE for the lifetime,
 *   NOT_FOUND for the user
 */
export async function createAccessToken(
  { viewer, prisma, tokens }: Context,
  input: z.input<typeof newAccessToken>,
): Promise<NewAccessToken> {
  const { userId, scopes, expiresInSeconds } = parseInput(newAccessToken, input)
  const allowed = allowedScopes(viewer, userId != null)
  const granted = scopes ?? allowed.filter((scope) => scope.endsWith(':read'))
  const refused = granted.filter((scope) => !allowed.includes(scope))
  if (refused.length > 0) {
    const reason =
      userId == null ? 'must be scopes of the key' : 'must be scopes of the key that a token for a user can have'
    throw invalidField('scopes', 'OUT_OF_RANGE', `${reason}, and not ${refused.join(', ')}`)
  }
  if (granted.length === 0)
    throw invalidField('scopes', 'REQUIRED', 'is required, because the key has no scope that reads')
  if (userId != null) await requireUser({ viewer, prisma }, userId)
  const { tenantAppId, keyId } = viewer
  const expiresAt = earliest(Date.now() + (expiresInSeconds ?? defaultSeconds) * 1_000, viewer.expiresAt)
  const content = { tenantAppId, keyId, userId: userId ?? undefined, scopes: granted, expiresAt }
  return { accessToken: await tokens.sign(content), expiresAt }
}

function allowedScopes({ scopes }: Viewer, isForUser: boolean): Scope[] {
  return scopes.filter(isScope).filter((scope) => !isForUser || userScopes.includes(scope))
}

async function requireUser({ viewer, prisma }: Pick<Context, 'viewer' | 'prisma'>, userId: string): Promise<void> {
  const { tenantAppId, keyId } = viewer
  // A token without a user has the id of its key in the same claim.
  const isPossible = isPossibleId(userId) && userId !== keyId
  if (!isPossible || !(await prisma.user.findFirst({ where: { tenantAppId, id: userId } })))
    throw userNotFound('userId')
}

/** A token states its expiry in whole seconds. */
function earliest(time: number, limit: Date | undefined): Date {
  return new Date(Math.floor(Math.min(time, limit?.getTime() ?? time) / 1_000) * 1_000)
}
