import { idsWithPrefix } from '../db/ids.ts'
import { one } from '../db/read/relation.ts'

export const userIds = idsWithPrefix('usr')

export const userById = one('User', 'id')
