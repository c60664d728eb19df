import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'
import { deleteEach } from '../../engine/db/write/owned-rows.ts'
import type { Deletion, Seed } from '../resource.ts'

/** The accounts of a user, with their profiles and emails, are deleted with the user. */
export const userDeletion: Deletion = {
  event: 'USER_DELETED',
  async delete({ sql }, tenantAppId, ids) {
    await deleteEach({ sql, owner: { tenantAppId } }, 'User', {
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
