import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'

export const userIds = idsWithPrefix('usr')

export const userById = one('User', 'id')
