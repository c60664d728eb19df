import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { EmailRecord, Prisma, Profile } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { accountNotFound } from '../account/account.service.ts'
import { emailRecordIds } from '../email-record/email-record.ts'
import { type Email, profileChange } from './profile.input.ts'
import { profileIds } from './profile.ts'

/**
 * Creates or changes the profile of an account. An email that stays (same value and type) keeps its id and creation time.
 * Runs in a transaction.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; NOT_FOUND for `accountId`
 */
export async function syncProfile(
  { viewer, prisma }: Context,
  { accountId, ...input }: z.input<typeof profileChange> & { readonly accountId: string },
): Promise<Profile> {
  const { tenantAppId, userId = null } = viewer
  const { emails, phoneNumbers, addresses, unsupportedFields, ...scalars } = parseInput(profileChange, input)
  if (!isPossibleId(accountId)) throw accountNotFound('accountId')
  // Locked until the end of the transaction, so that two calls for one account do not interleave.
  const [account] = await prisma.$queryRaw<{ platform: string; platformAccountId: string }[]>`
    SELECT platform, platform_account_id AS "platformAccountId" FROM account
    WHERE tenant_app_id = ${tenantAppId} AND id = ${accountId} AND user_id = coalesce(${userId}, user_id) FOR UPDATE`
  if (!account) throw accountNotFound('accountId')
  const columns = {
    ...scalars,
    ...(phoneNumbers !== undefined && { phoneNumbers: (phoneNumbers ?? []) as Prisma.InputJsonArray }),
    ...(unsupportedFields !== undefined && { unsupportedFields: unsupportedFields ?? [] }),
    syncedAt: new Date(),
    ...(addresses !== undefined && { addresses: (addresses ?? []) as Prisma.InputJsonArray }),
  } as Omit<Prisma.ProfileUncheckedCreateInput, 'tenantAppId' | 'id' | 'accountId' | keyof typeof account>
  const profile = await prisma.profile.upsert({
    where: { tenantAppId_accountId: { tenantAppId, accountId } },
    create: { ...columns, ...account, tenantAppId, id: profileIds.create(), accountId },
    update: columns,
  })
  if (emails !== undefined) await replaceEmails(prisma, profile, emails ?? [])
  return profile
}

async function replaceEmails(
  prisma: Context['prisma'],
  { tenantAppId, id: profileId }: Profile,
  emails: readonly Email[],
): Promise<void> {
  const removed = await prisma.emailRecord.findMany({
    where: { tenantAppId, profileId },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  })
  const added: Email[] = []
  for (const email of emails) {
    const index = removed.findIndex(({ value, type }) => value === email.value && type === email.type)
    const [kept] = index === -1 ? [] : removed.splice(index, 1)
    if (!kept) added.push(email)
    else if (hasChanged(kept, email)) {
      const { isVerified, isPrimary } = email
      await prisma.emailRecord.updateMany({ where: { tenantAppId, id: kept.id }, data: { isVerified, isPrimary } })
    }
  }
  if (removed.length > 0) {
    await prisma.emailRecord.deleteMany({ where: { tenantAppId, id: { in: removed.map(({ id }) => id) } } })
  }
  const now = new Date()
  await prisma.emailRecord.createMany({
    data: added.map((email) => ({
      ...email,
      tenantAppId,
      profileId,
      id: emailRecordIds.create(),
      createdAt: now,
      updatedAt: now,
    })),
  })
}

function hasChanged(record: EmailRecord, { isVerified, isPrimary }: Email): boolean {
  return record.isVerified !== isVerified || record.isPrimary !== isPrimary
}
