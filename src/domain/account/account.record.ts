import { z } from 'zod'
import { id } from '../../engine/input/rules.ts'
import { accountFields } from './account.input.ts'

/** The GraphQL selection of an account in REST. The aliases are the keys of the record. */
export const accountSelection = `
    id
    user_platform: platform
    platform_account_id: platformAccountId
    display_name: displayName
  `

/** An account in the record of its user, as an import reads it. */
export const accountRecord = z.object({
  id,
  user_platform: accountFields.platform,
  platform_account_id: accountFields.platformAccountId,
  display_name: accountFields.displayName,
})
