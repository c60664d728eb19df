import type { Context } from '../context.ts'
import type { Account } from '../db/generated/prisma/client.ts'
import { isPossibleId, newId } from '../db/ids.ts'
import { isForeignKeyViolation } from '../db/violations.ts'
import { invalidField } from '../errors.ts'
import { checkFields, id, text, upperCaseWord } from '../input/rules.ts'
import { notAUser } from '../user/user.service.ts'

const rules = { id, platform: upperCaseWord, platformAccountId: text(128), displayName: text(200) }

/** An account to link, as the caller gave it. */
export interface AccountLink {
  readonly userId: string
  readonly platform: string
  readonly platformAccountId: string
  readonly displayName: string
  /** The id to keep, for an account that comes from elsewhere. */
  readonly id?: string | null | undefined
}

/**
 * Links a platform account to a user. A second link of the same platform account to the same user answers the first,
 * as it is.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND for a user that the tenant does not have; CONFLICT when another user
 *   has the platform account, or another account the id; or a field that is refused
 */
export async function linkAccount({ viewer, prisma }: Context, link: AccountLink): Promise<Account> {
  const { tenantAppId } = viewer
  const { userId, platform, platformAccountId, displayName } = link
  checkFields(link, rules)
  if (!isPossibleId(userId) || !(await prisma.user.findFirst({ where: { tenantAppId, id: userId } }))) {
    throw notAUser('userId')
  }
  const now = new Date()
  const row = { tenantAppId, id: link.id ?? newId('Account'), userId, platform, platformAccountId, displayName }
  const [linked] = await prisma.account
    .createManyAndReturn({ data: { ...row, createdAt: now, updatedAt: now }, skipDuplicates: true })
    .catch((error: unknown) => {
      // The user was deleted in this very moment.
      throw isForeignKeyViolation(error) ? notAUser('userId') : error
    })
  if (linked) return linked
  const first = await prisma.account.findFirst({ where: { tenantAppId, platform, platformAccountId } })
  if (first?.userId === userId) return first
  throw first
    ? invalidField('platformAccountId', 'CONFLICT', 'is linked to another user')
    : invalidField('id', 'CONFLICT', 'is the id of another account')
}

/** What to change of an account. Its platform and platform account id never change. */
export interface AccountChange {
  readonly id: string
  /** Absent or null: unchanged. */
  readonly displayName?: string | null | undefined
}

/**
 * Changes an account of the viewer's tenant.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused, `id` with NOT_FOUND among them
 */
export async function updateAccount({ viewer, prisma }: Context, { id, displayName }: AccountChange): Promise<Account> {
  checkFields({ displayName }, { displayName: rules.displayName })
  const where = { tenantAppId: viewer.tenantAppId, id }
  const [account] = isPossibleId(id)
    ? displayName == null
      ? await prisma.account.findMany({ where, take: 1 })
      : await prisma.account.updateManyAndReturn({ where, data: { displayName } })
    : []
  if (!account) throw notAnAccount('id')
  return account
}

/**
 * Unlinks an account, with its profile and emails: the foreign keys take them along in the same statement.
 *
 * @returns the id that is gone
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND when the tenant has no such account
 */
export async function unlinkAccount({ viewer, prisma }: Context, { id }: { id: string }): Promise<string> {
  const where = { tenantAppId: viewer.tenantAppId, id }
  const { count } = isPossibleId(id) ? await prisma.account.deleteMany({ where }) : { count: 0 }
  if (count === 0) throw notAnAccount('id')
  return id
}

/** The refusal of an id that no account of the tenant has. */
export function notAnAccount(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of an account')
}
