import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'

export const profileIds = idsWithPrefix('prf')

export const profileById = one('Profile', 'id')
export const profileOfAccount = one('Profile', 'accountId')
