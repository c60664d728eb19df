import { idsWithPrefix } from '../db/ids.ts'

export const tenantIds = idsWithPrefix('ten')
