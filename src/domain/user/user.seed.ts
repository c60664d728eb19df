import type { Seed } from '../noun.ts'
import { userIds } from './user.rows.ts'

export const userSeed: Seed = {
  model: 'User',
  fields: ['tenantAppId', 'id', 'name', 'email', 'phone', 'createdAt', 'updatedAt'],
  rowsOf({ tenantAppId, idOf, fullName, handle, phone, createdAt }) {
    return [[tenantAppId, idOf(userIds), fullName, `${handle}@example.com`, phone, createdAt, createdAt]]
  },
}
