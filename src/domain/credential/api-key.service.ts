import { GatewayError, invalidField, maxPointsPerMinute } from '@fusion-gateway/base'
import type { ApiKey } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { atMost, filledText, integer, matching, parseInput, rule } from '@fusion-gateway/input'
import { isPossibleId, statement } from '@fusion-gateway/sql'
import { z } from 'zod'
import { isScope } from '../scopes.ts'
import { scopeNames } from './access-token.service.ts'
import { createKey, lockKeys, revokeTree } from './key.service.ts'

/** How many valid keys a tenant can create, because each has its own budget and limits. */
const maxKeys = 20

/** How many keys the keys of a tenant can create in 24 hours, because revoked keys are kept for a while. */
const maxNewKeys = 100

const newApiKey = z.object({
  name: filledText.trim().check(atMost(200), matching(/^\P{Cc}*$/u, 'must be one line')),
  scopes: scopeNames.nullish(),
  expiresAt: z
    .date()
    .check(rule('OUT_OF_RANGE', 'must be in the future', (time) => time.getTime() > Date.now()))
    .nullish(),
  pointsPerMinute: integer(1, maxPointsPerMinute).nullish(),
})

/**
 * Creates a key of the viewer's tenant, within a transaction. It does not outlive the key or the token of the viewer.
 *
 * @returns the row, and the key itself, which is stored nowhere
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; OUT_OF_RANGE for scopes, a lifetime or a rate limit
 *   beyond those of the viewer; CONFLICT if the tenant has created as many keys as it can; UNAUTHENTICATED if the
 *   viewer's key has just been revoked
 */
export async function createApiKey(
  { viewer, sql }: Context,
  input: z.input<typeof newApiKey>,
): Promise<{ row: ApiKey; key: string }> {
  const { name, scopes, expiresAt, pointsPerMinute } = parseInput(newApiKey, input)
  const granted = scopes ?? viewer.scopes.filter(isScope)
  const refused = granted.filter((scope) => !viewer.scopes.includes(scope))
  if (refused.length > 0) {
    throw invalidField('scopes', 'OUT_OF_RANGE', `must be scopes that you have, and not ${refused.join(', ')}`)
  }
  const { tenantAppId, keyId: creatorId, expiresAt: latest, pointsPerMinute: most } = viewer
  if (latest && expiresAt && expiresAt > latest) {
    throw invalidField(
      'expiresAt',
      'OUT_OF_RANGE',
      `must not be after ${latest.toISOString()}, when your own key or token expires`,
    )
  }
  if (pointsPerMinute && most && pointsPerMinute > most) {
    throw invalidField('pointsPerMinute', 'OUT_OF_RANGE', `must be at most ${most}, as for your own key`)
  }
  await lockKeys(sql, tenantAppId)
  await requireRoom({ viewer, sql })
  return createKey(
    { sql },
    {
      tenantAppId,
      name,
      scopes: granted,
      creatorId,
      expiresAt: expiresAt ?? latest,
      pointsPerMinute: pointsPerMinute ?? most,
    },
  )
}

const countKeys = statement(`
  SELECT count(*) FILTER (WHERE is_valid), count(*) FILTER (WHERE creator_id IS NOT NULL AND created_at > now() - interval '24 hours'),
    coalesce(bool_or(is_valid AND id = $2), false)
  FROM (SELECT *, revoked_at IS NULL AND coalesce(expires_at > now(), true) AS is_valid FROM api_key WHERE tenant_app_id = $1) AS k`)

/** @throws GatewayError CONFLICT if the viewer's tenant has created as many keys as it can; UNAUTHENTICATED */
async function requireRoom({ viewer, sql }: Pick<Context, 'viewer' | 'sql'>): Promise<void> {
  // The viewer can be some seconds old. A key that was revoked since must leave no key behind.
  const [[valid, recent, isCreatorValid] = []] = await sql.query(countKeys, [viewer.tenantAppId, viewer.keyId])
  if (isCreatorValid !== true) throw new GatewayError('UNAUTHENTICATED', 'Your key was revoked, or has expired.')
  const full =
    (Number(valid) >= maxKeys && `the tenant already has ${maxKeys} valid keys. Revoke one first`) ||
    (Number(recent) >= maxNewKeys &&
      `keys of the tenant have created ${maxNewKeys} keys in the last 24 hours. Try again later`)
  if (full) throw invalidField('name', 'CONFLICT', `cannot be used: ${full}`)
}

/**
 * Revokes a key of the viewer's tenant, and the keys that it has created, within a transaction. Revoking it again
 * changes nothing.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND for `id`; FORBIDDEN if the key has scopes that the viewer does not
 *   have
 */
export async function revokeApiKey({ viewer, sql, db }: Context, { id }: { readonly id: string }): Promise<ApiKey> {
  const key = isPossibleId(id) ? await db.apiKey.findFirst({ where: { id } }) : null
  if (!key) throw invalidField('id', 'NOT_FOUND', 'is not the id of an API key')
  const missing = key.scopes.filter((scope) => !viewer.scopes.includes(scope))
  if (missing.length > 0) {
    throw new GatewayError('FORBIDDEN', `The key has scopes that you do not have: ${missing.join(', ')}.`)
  }
  await revokeTree(sql, key)
  return (await db.apiKey.findFirst({ where: { id } })) ?? key
}
