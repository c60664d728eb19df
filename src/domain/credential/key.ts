import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'

export const keyIds = idsWithPrefix('key')

export const keyById = one('ApiKey', 'id')
