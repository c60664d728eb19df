import { idsWithPrefix } from '../db/ids.ts'
import { one } from '../db/read/relation.ts'

export const profileIds = idsWithPrefix('prf')

export const profileById = one('Profile', 'id')
export const profileOfAccount = one('Profile', 'accountId')
