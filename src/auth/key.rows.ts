import { idsWithPrefix } from '../db/ids.ts'

export const keyIds = idsWithPrefix('key')
