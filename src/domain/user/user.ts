import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'
import type { Seed } from '../resource.ts'

export const userIds = idsWithPrefix('usr')

export const userById = one('User', 'id')

export const userSeed: Seed = {
  model: 'User',
  fields: ['tenantAppId', 'id', 'name', 'email', 'phone', 'createdAt', 'updatedAt'],
  rowsOf({ tenantAppId, idOf, fullName, handle, phone, createdAt }) {
    return [[tenantAppId, idOf(userIds), fullName, `${handle}@example.com`, phone, createdAt, createdAt]]
  },
}
