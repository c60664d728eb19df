import { AccountStatus } from '@fusion-gateway/database'
import {
  atMost,
  expectedTime,
  filledIndexedText,
  filledText,
  id,
  kept,
  text,
  upperCaseWord,
} from '@fusion-gateway/input'
import { z } from 'zod'
import { userFields } from '../user/user.input.ts'

/** The fields of an account that clients set, as the database stores them. */
export const accountFields = { platform: upperCaseWord, platformAccountId: filledIndexedText, displayName: filledText }

const status = z.enum(AccountStatus)

const displayName = accountFields.displayName.check(atMost(200))

export const accountLink = z.object({
  /** The id of an account that comes from another system. */
  id: id.nullish(),
  userId: z.string().nullish(),
  /** Names the user instead of `userId`. */
  userExternalId: userFields.externalId.nullish(),
  platform: accountFields.platform,
  platformAccountId: text(128),
  displayName,
  status: status.nullish(),
})

/** The input of `updateAccount`. Null is rejected. */
export const accountChange = z.object({
  displayName: kept(displayName),
  status: kept(status),
  expectedUpdatedAt: expectedTime,
})
