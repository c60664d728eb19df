import type { Deletion } from '../resource.ts'

/** The profile of an account is deleted with it. Accounts are written with their users. */
export const accountDeletion: Deletion = {
  event: 'ACCOUNT_UNLINKED',
  async delete({ prisma }, tenantAppId, ids) {
    await prisma.account.deleteMany({ where: { tenantAppId, id: { in: [...ids] } } })
  },
}
