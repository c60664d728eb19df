import type { Prisma } from '../db/generated/prisma/client.ts'
import { type FieldError, invalidInput } from '../errors.ts'
import { hasProtoKey, isShallow } from '../input/json-depth.ts'
import { checkFields, count, httpUrl, type Rule, text, upperCaseWord } from '../input/rules.ts'

type JsonObject = Record<string, unknown>

/** An email address of a profile, as the caller gave it. */
export interface EmailInput {
  readonly value: string
  readonly type?: string | null | undefined
  readonly isVerified?: boolean | null | undefined
  readonly isPrimary?: boolean | null | undefined
}

/** The fields of a profile that a caller may set. Absent: kept. Null: cleared; a list is then empty. */
export interface ProfileFields {
  readonly username?: string | null | undefined
  readonly url?: string | null | undefined
  readonly gender?: string | null | undefined
  readonly fullName?: string | null | undefined
  readonly firstName?: string | null | undefined
  readonly lastName?: string | null | undefined
  readonly nickName?: string | null | undefined
  readonly displayName?: string | null | undefined
  readonly description?: string | null | undefined
  readonly profilePictureUrl?: string | null | undefined
  readonly dateOfBirth?: Date | null | undefined
  readonly category?: string | null | undefined
  readonly websiteUrl?: string | null | undefined
  readonly country?: string | null | undefined
  readonly phoneNumbers?: readonly JsonObject[] | null | undefined
  readonly addresses?: readonly JsonObject[] | null | undefined
  readonly followersCount?: number | null | undefined
  readonly followingCount?: number | null | undefined
  readonly subscribersCount?: number | null | undefined
  readonly contentsCount?: number | null | undefined
  readonly watchTimeInHours?: number | null | undefined
  readonly joinedAt?: Date | null | undefined
  readonly verified?: boolean | null | undefined
  readonly emails?: readonly EmailInput[] | null | undefined
}

const maxListLength = 100
const maxObjectBytes = 16 * 1024

const name = text(500)

const rules: { readonly [Field in keyof ProfileFields]?: Rule<NonNullable<ProfileFields[Field]>> } = {
  username: name,
  url: httpUrl,
  gender: upperCaseWord,
  fullName: name,
  firstName: name,
  lastName: name,
  nickName: name,
  displayName: name,
  description: text(10_000),
  profilePictureUrl: httpUrl,
  category: name,
  websiteUrl: httpUrl,
  country: text(64),
  followersCount: count,
  followingCount: count,
  subscribersCount: count,
  contentsCount: count,
  watchTimeInHours: (hours) =>
    Number.isFinite(hours) && hours >= 0 && hours < 1e15
      ? undefined
      : { code: 'OUT_OF_RANGE', message: 'must be 0 or more' },
  phoneNumbers: shortList,
  addresses: shortList,
  emails: shortList,
}

/** The columns of a profile to write, and its emails when they are given. */
export interface ProfileChange {
  readonly columns: Omit<Prisma.ProfileUncheckedUpdateInput, 'tenantAppId' | 'id' | 'accountId'>
  readonly emails: readonly Required<EmailInput>[] | undefined
}

/**
 * Checks the fields of a profile and gives back what to write.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused: `emails.2.value`, `addresses.0`
 */
export function readProfileFields(given: ProfileFields): ProfileChange {
  const { emails, phoneNumbers, addresses, ...scalars } = given
  checkFields(given, rules)
  const errors = [
    ...Object.entries({ phoneNumbers, addresses }).flatMap(([field, list]) => checkObjects(field, list ?? [])),
    ...checkEmails(emails ?? []),
  ]
  if (errors.length > 0) throw invalidInput(errors)
  return {
    columns: {
      ...(scalars as Prisma.ProfileUncheckedUpdateInput),
      ...(phoneNumbers !== undefined && { phoneNumbers: (phoneNumbers ?? []) as Prisma.InputJsonArray }),
      ...(addresses !== undefined && { addresses: (addresses ?? []) as Prisma.InputJsonArray }),
    },
    emails: emails === undefined ? undefined : (emails ?? []).map(complete),
  }
}

function complete({ value, type, isVerified, isPrimary }: EmailInput): Required<EmailInput> {
  return { value, type: type ?? null, isVerified: isVerified ?? false, isPrimary: isPrimary ?? false }
}

function shortList(list: readonly unknown[]): ReturnType<Rule<unknown>> {
  return list.length > maxListLength
    ? { code: 'TOO_LONG', message: `must have at most ${maxListLength} entries` }
    : undefined
}

function checkObjects(field: string, list: readonly JsonObject[]): FieldError[] {
  return list.flatMap((object, index): FieldError[] => {
    if (isShallow(object) && hasProtoKey(object)) {
      return [{ field: `${field}.${index}`, code: 'INVALID_FORMAT', message: 'must have no key __proto__' }]
    }
    const isSmall = isShallow(object) && Buffer.byteLength(JSON.stringify(object)) <= maxObjectBytes
    const message = 'must have at most 16 KiB, nested at most 64 deep'
    return isSmall ? [] : [{ field: `${field}.${index}`, code: 'TOO_LONG', message }]
  })
}

function checkEmails(emails: readonly EmailInput[]): FieldError[] {
  return emails.flatMap(({ value, type }, index): FieldError[] =>
    Object.entries({ value: text(320)(value), type: type == null ? undefined : text(64)(type) }).flatMap(
      ([field, refusal]) => (refusal ? [{ field: `emails.${index}.${field}`, ...refusal }] : []),
    ),
  )
}
