import { idsWithPrefix } from '../../engine/db/ids.ts'
import { many, one } from '../../engine/db/read/relation.ts'

export const accountIds = idsWithPrefix('acc')

export const accountById = one('Account', 'id')
export const accountsOfUser = many('Account', 'userId')
