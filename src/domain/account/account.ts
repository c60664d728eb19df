import { dataModel } from '@fusion-gateway/database'
import { deleteEach, many, one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'
import type { Deletion, Seed } from '../resource.ts'
import { userIds } from '../user/user.ts'

/** The profile of an account is deleted with it. Accounts are written with their users. */
export const accountDeletion: Deletion = {
  event: 'ACCOUNT_UNLINKED',
  async delete({ sql }, tenantAppId, ids) {
    await deleteEach({ sql, owner: { id: tenantAppId }, model: dataModel }, 'Account', {
      where: ids.map((id) => ({ id })),
      select: { id: true },
    })
  },
}

export const accountIds = idsWithPrefix('acc')

export const accountById = one('Account', 'id')
export const accountsOfUser = many('Account', 'userId')

export const accountSeed: Seed = {
  model: 'Account',
  rowsOf({ tenantAppId, idOf, accounts, randomOf }) {
    const random = randomOf('account')
    return accounts.map(({ number, platform, platformAccountId, displayName, linkedAt }) => ({
      tenantAppId,
      id: idOf(accountIds, number),
      userId: idOf(userIds),
      platform,
      platformAccountId,
      displayName,
      status: random.pick(statuses),
      createdAt: linkedAt,
      updatedAt: linkedAt,
    }))
  },
}

/** Most accounts are connected. */
const statuses = [...Array<string>(8).fill('CONNECTED'), 'EXPIRED', 'DISCONNECTED']
