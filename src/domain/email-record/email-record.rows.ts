import { idsWithPrefix } from '../../engine/db/ids.ts'
import { many, one } from '../../engine/db/read/relation.ts'

export const emailRecordIds = idsWithPrefix('eml')

export const emailRecordById = one('EmailRecord', 'id')
export const emailsOfProfile = many('EmailRecord', 'profileId')
