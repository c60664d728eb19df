import { z } from 'zod'
import { isScope } from '../../engine/auth/scopes.ts'
import type { Context } from '../../engine/context.ts'
import type { ApiKey } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { atMost, filledText, matching, rule } from '../../engine/input/rules.ts'
import { scopeNames } from './access-token.service.ts'
import { createKey } from './key.service.ts'

/** How many valid keys a tenant can create, because each has its own budget and limits. */
const maxKeys = 20

const newApiKey = z.object({
  name: filledText.trim().check(atMost(200), matching(/^\P{Cc}*$/u, 'must be one line')),
  scopes: scopeNames.nullish(),
  expiresAt: z
    .date()
    .check(rule('OUT_OF_RANGE', 'must be in the future', (time) => time.getTime() > Date.now()))
    .nullish(),
})

/**
 * Creates a key of the viewer's tenant. It does not outlive the key or the token of the viewer.
 *
 * @returns the row, and the key itself, which is stored nowhere
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; OUT_OF_RANGE for scopes that the viewer does not have; CONFLICT if the
 *   tenant has as many keys as it can create
 */
export async function createApiKey(
  { viewer, prisma }: Context,
  input: z.input<typeof newApiKey>,
): Promise<{ row: ApiKey; key: string }> {
  const { name, scopes, expiresAt } = parseInput(newApiKey, input)
  const granted = scopes ?? viewer.scopes.filter(isScope)
  const refused = granted.filter((scope) => !viewer.scopes.includes(scope))
  if (refused.length > 0) {
    throw invalidField('scopes', 'OUT_OF_RANGE', `must be scopes that you have, and not ${refused.join(', ')}`)
  }
  const { tenantAppId, expiresAt: latest } = viewer
  if (latest && expiresAt && expiresAt > latest) {
    throw invalidField(
      'expiresAt',
      'OUT_OF_RANGE',
      `must not be after ${latest.toISOString()}, when your own key or token expires`,
    )
  }
  const now = new Date()
  const isValid = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] }
  if ((await prisma.apiKey.count({ where: { tenantAppId, ...isValid } })) >= maxKeys) {
    throw invalidField(
      'name',
      'CONFLICT',
      `cannot be used: the tenant already has ${maxKeys} valid keys. Revoke one first`,
    )
  }
  return createKey({ prisma }, { tenantAppId, name, scopes: granted, expiresAt: expiresAt ?? latest })
}

/**
 * Revokes a key of the viewer's tenant. Revoking it again changes nothing.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND for `id`
 */
export async function revokeApiKey({ viewer, prisma }: Context, { id }: { readonly id: string }): Promise<ApiKey> {
  const where = { tenantAppId: viewer.tenantAppId, id }
  if (isPossibleId(id)) {
    await prisma.apiKey.updateMany({ where: { ...where, revokedAt: null }, data: { revokedAt: new Date() } })
    const key = await prisma.apiKey.findFirst({ where })
    if (key) return key
  }
  throw invalidField('id', 'NOT_FOUND', 'is not the id of an API key')
}
