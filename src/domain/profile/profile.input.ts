import {
  atMost,
  count,
  expectedTime,
  filledText,
  httpUrl,
  listOf,
  maxNameLength,
  nullish,
  orNull,
  rule,
  storableText,
  storedObject,
  text,
  time,
  upperCaseWord,
  withDefault,
  withoutProtoKey,
} from '@fusion-gateway/input'
import { z } from 'zod'

const hours = z.number().min(0, 'must be 0 or more').lt(1e15, 'must be less than 10^15')

/**
 * The fields of a profile that clients set, as the database stores them. The emails and other lists are not among them.
 */
export const profileFields = {
  username: storableText,
  url: httpUrl,
  gender: upperCaseWord,
  fullName: storableText,
  firstName: storableText,
  lastName: storableText,
  nickName: storableText,
  displayName: storableText,
  description: storableText,
  profilePictureUrl: httpUrl,
  dateOfBirth: time,
  category: storableText,
  websiteUrl: httpUrl,
  country: storableText,
  followersCount: count,
  followingCount: count,
  subscribersCount: count,
  contentsCount: count,
  watchTimeInHours: hours,
  joinedAt: time,
  verified: z.boolean(),
}

const name = text(maxNameLength)

const email = z.object({
  value: filledText.check(atMost(320)),
  type: orNull(text(64)),
  isVerified: withDefault(z.boolean(), false),
  isPrimary: withDefault(z.boolean(), false),
})

export type Email = z.output<typeof email>

const fieldNames = [...Object.keys(profileFields), 'emails', 'phoneNumbers', 'addresses']

const unsupportedFields = listOf(
  z
    .string()
    .check(
      rule('INVALID_FORMAT', `must be the name of a field of the profile: ${fieldNames.join(', ')}`, (name) =>
        fieldNames.includes(name),
      ),
    ),
).transform((names) => [...new Set(names)])

/** The input of `syncProfile`: absent fields keep their value, null clears it, a list replaces the list. */
export const profileChange = z.object({
  ...nullish({
    ...profileFields,
    username: name,
    fullName: name,
    firstName: name,
    lastName: name,
    nickName: name,
    displayName: name,
    description: text(10_000),
    category: name,
    country: text(64),
    phoneNumbers: listOf(storedObject(16).check(withoutProtoKey)),
    addresses: listOf(storedObject(16).check(withoutProtoKey)),
    emails: listOf(email),
    unsupportedFields,
  }),
  expectedUpdatedAt: expectedTime,
})
