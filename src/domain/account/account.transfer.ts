import type { Deletion } from '../resource.ts'

/** The profile of an account is deleted with it. Accounts are written with their users. */
export const accountDeletion: Deletion = {
  event: 'ACCOUNT_UNLINKED',
  async delete({ rowsOf }, tenantAppId, ids) {
    await rowsOf({ tenantAppId }).delete('Account', ids)
  },
}
