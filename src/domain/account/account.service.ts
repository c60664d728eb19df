import type { z } from 'zod'
import { ownedBy } from '../../engine/auth/viewer.ts'
import type { Context } from '../../engine/context.ts'
import { isForeignKeyViolation } from '../../engine/db/errors.ts'
import type { Account } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { userNotFound } from '../user/user.service.ts'
import { accountChange, accountLink } from './account.input.ts'
import { accountIds } from './account.ts'

/**
 * Links a platform account to a user. Linking it to the same user again returns the first link unchanged.
 *
 * @throws GatewayError BAD_USER_INPUT: an invalid field, NOT_FOUND for the user, CONFLICT if another user has the platform
 *   account or another account has the id
 */
export async function linkAccount({ viewer, prisma }: Context, input: z.input<typeof accountLink>): Promise<Account> {
  const { tenantAppId } = viewer
  const { id, userId, status, ...fields } = parseInput(accountLink, input)
  const { platform, platformAccountId } = fields
  const owner = { ...ownedBy(viewer, 'id'), id: userId }
  if (!isPossibleId(userId) || !(await prisma.user.findFirst({ where: owner }))) throw userNotFound('userId')
  const now = new Date()
  const row = { ...fields, tenantAppId, id: id ?? accountIds.create(), userId, status: status ?? 'CONNECTED' }
  const [linked] = await prisma.account
    .createManyAndReturn({ data: { ...row, createdAt: now, updatedAt: now }, skipDuplicates: true })
    .catch((error: unknown) => {
      // The user was deleted between the two statements.
      throw isForeignKeyViolation(error) ? userNotFound('userId') : error
    })
  if (linked) return linked
  const existing = await prisma.account.findFirst({ where: { tenantAppId, platform, platformAccountId } })
  if (existing?.userId === userId) return existing
  throw existing
    ? invalidField('platformAccountId', 'CONFLICT', 'is linked to another user')
    : invalidField('id', 'CONFLICT', 'is the id of another account')
}

/**
 * Changes an account of the viewer's tenant. Its platform and platform account id cannot change.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; NOT_FOUND for `id`
 */
export async function updateAccount(
  { viewer, prisma }: Context,
  { id, ...input }: z.input<typeof accountChange> & { readonly id: string },
): Promise<Account> {
  const { displayName, status } = parseInput(accountChange, input)
  const data = { ...(displayName != null && { displayName }), ...(status != null && { status }) }
  if (!isPossibleId(id)) throw accountNotFound('id')
  const where = { ...ownedBy(viewer, 'userId'), id }
  const [account] =
    Object.keys(data).length > 0
      ? await prisma.account.updateManyAndReturn({ where, data })
      : await prisma.account.findMany({ where, take: 1 })
  if (!account) throw accountNotFound('id')
  return account
}

/**
 * Unlinks an account. Foreign keys delete its profile and emails in the same statement.
 *
 * @returns the id of the account
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND
 */
export async function unlinkAccount({ viewer, prisma }: Context, { id }: { id: string }): Promise<string> {
  const where = { ...ownedBy(viewer, 'userId'), id }
  const { count } = isPossibleId(id) ? await prisma.account.deleteMany({ where }) : { count: 0 }
  if (count === 0) throw accountNotFound('id')
  return id
}

/** The rejection of an id that no account of the tenant has. */
export function accountNotFound(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of an account')
}
