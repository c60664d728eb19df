import type { Seed } from '../noun/noun.ts'
import { userIds } from '../user/user.rows.ts'
import { accountIds } from './account.rows.ts'

export const accountSeed: Seed = {
  model: 'Account',
  fields: ['tenantAppId', 'id', 'userId', 'platform', 'platformAccountId', 'displayName', 'createdAt', 'updatedAt'],
  rowsOf({ tenantAppId, idOf, accounts, createdAt }) {
    return accounts.map(({ number, platform, platformAccountId, displayName }) => [
      ...[tenantAppId, idOf(accountIds, number), idOf(userIds)],
      ...[platform, platformAccountId, displayName, createdAt, createdAt],
    ])
  },
}
