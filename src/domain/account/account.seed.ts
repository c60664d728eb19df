import type { Seed } from '../noun.ts'
import { userIds } from '../user/user.rows.ts'
import { accountIds } from './account.rows.ts'

export const accountSeed: Seed = {
  model: 'Account',
  fields: [
    'tenantAppId',
    'id',
    'userId',
    'platform',
    'platformAccountId',
    'displayName',
    'status',
    'createdAt',
    'updatedAt',
  ],
  rowsOf(person) {
    const { tenantAppId, idOf, accounts, createdAt } = person
    const random = person.randomOf('account')
    return accounts.map(({ number, platform, platformAccountId, displayName }) => [
      ...[tenantAppId, idOf(accountIds, number), idOf(userIds)],
      ...[platform, platformAccountId, displayName, random.pick(statuses), createdAt, createdAt],
    ])
  },
}

/** Most accounts are connected. */
const statuses = [...Array<string>(8).fill('CONNECTED'), 'EXPIRED', 'DISCONNECTED']
