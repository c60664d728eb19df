import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'
import type { Seed } from '../resource.ts'

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
