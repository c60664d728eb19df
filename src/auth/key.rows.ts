import { idsWithPrefix } from '../db/ids.ts'
import { one } from '../db/read/relation.ts'

export const keyIds = idsWithPrefix('key')

export const keyById = one('ApiKey', 'id')
