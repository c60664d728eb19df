import { z } from 'zod'
import { id, orEmpty, orNull, recordDate, recordTime, storedObject } from '../../engine/input/rules.ts'
import { accountFields } from '../account/account.input.ts'
import { emailRecordRecord, emailRecordSelection } from '../email-record/email-record.record.ts'
import { profileFields } from './profile.input.ts'

/** The GraphQL selection of a profile in REST. The aliases are the keys of the record. */
export const profileSelection = `
  id
  user_platform: platform
  username
  url
  gender
  platform_account_id: platformAccountId
  full_name: fullName
  first_name: firstName
  last_name: lastName
  nick_name: nickName
  display_name: displayName
  description
  profile_picture_url: profilePictureUrl
  date_of_birth: dateOfBirth
  category
  website_url: websiteUrl
  country
  emails { ${emailRecordSelection} }
  phone_numbers: phoneNumbers
  addresses
  followers_count: followersCount
  following_count: followingCount
  subscribers_count: subscribersCount
  contents_count: contentsCount
  watch_time_in_hours: watchTimeInHours
  joined_at: joinedAt
  verified`

/** The key of a field in a record: `fullName` ⇒ `full_name`. */
export function recordKeyOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name

type RecordShape<Shape> = {
  [Name in keyof Shape & string as SnakeCase<Name>]: ReturnType<typeof orNull<Extract<Shape[Name], z.ZodType>>>
}

/** Fields as a record has them: keys in snake case, and null for those without a value. */
function recordShapeOf<Shape extends Record<string, z.ZodType>>(shape: Shape): RecordShape<Shape> {
  const entries = Object.entries(shape).map(([name, field]) => [recordKeyOf(name), orNull(field)])
  return Object.fromEntries(entries)
}

/** A profile, as an import reads it. Its account is found by id or by the platform's id. */
export const profileRecord = z.object({
  ...recordShapeOf({ ...profileFields, dateOfBirth: recordDate, joinedAt: recordTime }),
  id,
  account_id: orNull(id),
  user_platform: accountFields.platform,
  platform_account_id: accountFields.platformAccountId,
  emails: orEmpty(emailRecordRecord),
  phone_numbers: orEmpty(storedObject(16)),
  addresses: orEmpty(storedObject(16)),
})
