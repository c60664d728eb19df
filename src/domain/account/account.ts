import { idsWithPrefix } from '../../engine/db/ids.ts'
import { many, one } from '../../engine/db/read/relation.ts'
import type { Seed } from '../resource.ts'
import { userIds } from '../user/user.ts'

export const accountIds = idsWithPrefix('acc')

export const accountById = one('Account', 'id')
export const accountsOfUser = many('Account', 'userId')

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
