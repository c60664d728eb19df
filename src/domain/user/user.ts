import { dataModel } from '@fusion-gateway/database'
import { deleteEach, one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'
import type { Deletion, Seed } from '../resource.ts'

/** The accounts of a user, with their profiles and emails, are deleted with the user. */
export const userDeletion: Deletion = {
  event: 'USER_DELETED',
  async delete({ sql }, tenantAppId, ids) {
    await deleteEach({ sql, owner: { id: tenantAppId }, model: dataModel }, 'User', {
      where: ids.map((id) => ({ id })),
      select: { id: true },
    })
  },
}

export const userIds = idsWithPrefix('usr')

export const userById = one('User', 'id')

export const userSeed: Seed = {
  model: 'User',
  rowsOf: ({ tenantAppId, idOf, fullName, handle, phone, createdAt }) => [
    {
      tenantAppId,
      id: idOf(userIds),
      name: fullName,
      email: `${handle}@example.com`,
      phone,
      createdAt,
      updatedAt: createdAt,
    },
  ],
}
