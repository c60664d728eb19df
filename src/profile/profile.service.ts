import { notAnAccount } from '../account/account.service.ts'
import type { Context } from '../context.ts'
import type { EmailRecord, Prisma, Profile } from '../db/generated/prisma/client.ts'
import { isPossibleId, newId } from '../db/ids.ts'
import { type EmailInput, type ProfileFields, readProfileFields } from './profile.input.ts'

/**
 * Makes the profile of an account, or changes it: in one transaction, or not at all. An absent field is kept, null
 * clears, a given list replaces the list. An email that stays (same value and type) keeps its id and when it was made.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused, `accountId` with NOT_FOUND among them
 */
export async function syncProfile(
  { viewer, prisma }: Context,
  { accountId, ...fields }: ProfileFields & { readonly accountId: string },
): Promise<Profile> {
  const { tenantAppId } = viewer
  const { columns, emails } = readProfileFields(fields)
  if (!isPossibleId(accountId)) throw notAnAccount('accountId')
  return prisma.$transaction(async (transaction) => {
    // Held until the end, so that two calls for one account do not mix.
    const [account] = await transaction.$queryRaw<{ platform: string; platformAccountId: string }[]>`
      SELECT platform, platform_account_id AS "platformAccountId" FROM account
      WHERE tenant_app_id = ${tenantAppId} AND id = ${accountId} FOR UPDATE`
    if (!account) throw notAnAccount('accountId')
    const where = { tenantAppId_accountId: { tenantAppId, accountId } }
    const create = { ...(columns as object), ...account, tenantAppId, id: newId('Profile'), accountId }
    const profile = await transaction.profile.upsert({ where, create, update: columns })
    if (emails) await replaceEmails(transaction, profile, emails)
    return profile
  })
}

async function replaceEmails(
  transaction: Prisma.TransactionClient,
  { tenantAppId, id: profileId }: Profile,
  emails: readonly Required<EmailInput>[],
): Promise<void> {
  const left = await transaction.emailRecord.findMany({
    where: { tenantAppId, profileId },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  })
  const added: Required<EmailInput>[] = []
  for (const email of emails) {
    const index = left.findIndex(({ value, type }) => value === email.value && type === email.type)
    const [stays] = index === -1 ? [] : left.splice(index, 1)
    if (!stays) added.push(email)
    else if (hasChanged(stays, email)) {
      const { isVerified, isPrimary } = email as EmailRecord
      await transaction.emailRecord.updateMany({
        where: { tenantAppId, id: stays.id },
        data: { isVerified, isPrimary },
      })
    }
  }
  if (left.length > 0) {
    await transaction.emailRecord.deleteMany({ where: { tenantAppId, id: { in: left.map(({ id }) => id) } } })
  }
  const now = new Date()
  await transaction.emailRecord.createMany({
    data: added.map((email) => ({
      ...(email as EmailRecord),
      tenantAppId,
      profileId,
      id: newId('EmailRecord'),
      createdAt: now,
      updatedAt: now,
    })),
  })
}

function hasChanged(record: EmailRecord, { isVerified, isPrimary }: Required<EmailInput>): boolean {
  return record.isVerified !== isVerified || record.isPrimary !== isPrimary
}
