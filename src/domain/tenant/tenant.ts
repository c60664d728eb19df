import { idsWithPrefix } from '../../engine/db/ids.ts'

export const tenantIds = idsWithPrefix('ten')
