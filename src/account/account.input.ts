import { z } from 'zod'
import { atMost, filledText, id, upperCaseWord } from '../input/rules.ts'

/** The fields of an account that clients set, as the database stores them. */
export const accountFields = { platform: upperCaseWord, platformAccountId: filledText, displayName: filledText }

const displayName = accountFields.displayName.check(atMost(200))

/** The input of `linkAccount`. */
export const accountLink = z.object({
  /** The id of an account that comes from another system. */
  id: id.nullish(),
  userId: z.string(),
  platform: accountFields.platform,
  platformAccountId: accountFields.platformAccountId.check(atMost(128)),
  displayName,
})

/** The input of `updateAccount`. Null keeps the name. */
export const accountChange = z.object({ displayName: displayName.nullish() })
