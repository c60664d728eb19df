import { ownValue } from '@fusion-gateway/base'
import { type Database, dataModel, type Profile } from '@fusion-gateway/database'
import {
  filledText,
  id,
  orEmpty,
  orNull,
  recordDate,
  recordTime,
  storableText,
  storedObject,
  withDefault,
} from '@fusion-gateway/input'
import { insertRows, maxPageSize } from '@fusion-gateway/prisma-trees'
import { type Parameter, statement } from '@fusion-gateway/sql'
import { z } from 'zod'
import { accountFields } from '../account/account.input.ts'
import { findByPlatform, type PlatformAccount, platformNameOf } from '../account/account.service.ts'
import { type Json, RecordError, recordKeyOf, type Transfer } from '../resource.ts'
import { profileFields } from './profile.input.ts'

/** The GraphQL selection of an email record in REST. The aliases are the keys of the record. */
const emailSelection = `
    value
    type
    is_verified: isVerified
    is_primary: isPrimary
    id
    created_at: createdAt
    updated_at: updatedAt
    profile_id: profileId
  `

/** An email in the record of its profile, as an import reads it. */
const recordEmail = z.object({
  id,
  value: filledText,
  type: orNull(storableText),
  is_verified: withDefault(z.boolean(), false),
  is_primary: withDefault(z.boolean(), false),
  created_at: recordTime,
  updated_at: recordTime,
})

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
  emails { ${emailSelection} }
  phone_numbers: phoneNumbers
  addresses
  followers_count: followersCount
  following_count: followingCount
  subscribers_count: subscribersCount
  contents_count: contentsCount
  watch_time_in_hours: watchTimeInHours
  joined_at: joinedAt
  verified`

/** The scalar fields as a record has them: keys in snake case, and null for those without a value. */
const scalarsOfRecord: object = Object.fromEntries(
  Object.entries({ ...profileFields, dateOfBirth: recordDate, joinedAt: recordTime }).map(([name, field]) => [
    recordKeyOf(name),
    orNull(field),
  ]),
)

/** A profile, as an import reads it. Its account is found by id or by the platform's id. */
const profileRecord = z.object({
  ...scalarsOfRecord,
  id,
  account_id: orNull(id),
  user_platform: accountFields.platform,
  platform_account_id: accountFields.platformAccountId,
  emails: orEmpty(recordEmail),
  phone_numbers: orEmpty(storedObject(16)),
  addresses: orEmpty(storedObject(16)),
  // Exports have these; REST does not.
  unsupported_fields: orNull(z.array(storableText)),
  created_at: orNull(recordTime),
  updated_at: orNull(recordTime),
  synced_at: orNull(recordTime),
})

type ProfileRecord = z.output<typeof profileRecord>

export const profileTransfer: Transfer<ProfileRecord> = {
  listKey: 'profiles',
  recognisedBy: 'user_platform',
  // An account has a platform and a display name too. REST leaves out fields without a value, but not lists.
  withOneOf: [
    'emails',
    'phone_numbers',
    'addresses',
    ...Object.keys(scalarsOfRecord).filter((key) => key !== 'display_name'),
  ],
  record: profileRecord,
  write: writeProfiles,
  export: {
    operation: `query ExportProfiles($accountIds: [ID!]!) {
      profiles(accountIds: $accountIds) {
        account_id: accountId
        ${profileSelection}
        unsupported_fields: unsupportedFields
        created_at: createdAt
        updated_at: updatedAt
        synced_at: syncedAt
      }
    }`,
    path: 'profiles',
    belongsTo: { resource: 'user', variablesOf },
  },
}

function variablesOf(users: readonly Json[]): Json[] {
  const accountIds = users.flatMap(({ accounts }) => (accounts as { id: string }[]).map(({ id }) => id))
  const pages = Math.ceil(accountIds.length / maxPageSize)
  return Array.from({ length: pages }, (_, page) => ({
    accountIds: accountIds.slice(page * maxPageSize, (page + 1) * maxPageSize),
  }))
}

/** Writes profiles and their emails. The emails of a record replace those of the profile. */
async function writeProfiles(
  database: Database,
  tenantAppId: string,
  profiles: readonly ProfileRecord[],
): Promise<void> {
  const ids = profiles.map(({ id }) => id)
  const existing = await database.reads.batch(database.sql, 'Profile', 'id', { id: tenantAppId }, ids)
  const byId = new Map(existing.map((profile) => [profile.id, profile]))
  const accountIds = await findAccounts(database, tenantAppId, profiles, byId)
  const emails = profiles.flatMap((profile) => profile.emails.map((email) => ({ profile, email })))
  await checkEmails(database, tenantAppId, emails)
  const now = new Date()
  const fields = Object.keys(profileFields)
  await insertRows(
    database.sql,
    dataModel('Profile'),
    profiles.map((profile, index) => ({
      tenantAppId,
      id: profile.id,
      accountId: accountIds[index] ?? null,
      platform: profile.user_platform,
      platformAccountId: profile.platform_account_id,
      createdAt: profile.created_at ?? byId.get(profile.id)?.createdAt ?? now,
      updatedAt: profile.updated_at ?? byId.get(profile.id)?.updatedAt ?? now,
      syncedAt: profile.synced_at ?? byId.get(profile.id)?.syncedAt ?? null,
      unsupportedFields: profile.unsupported_fields ?? byId.get(profile.id)?.unsupportedFields ?? [],
      ...Object.fromEntries(fields.map((field) => [field, ownValue(profile, recordKeyOf(field)) as Parameter])),
      phoneNumbers: JSON.stringify(profile.phone_numbers),
      addresses: JSON.stringify(profile.addresses),
    })),
    { update: [...fields, 'phoneNumbers', 'addresses', 'createdAt', 'updatedAt', 'syncedAt', 'unsupportedFields'] },
  )
  await database.sql.execute(deleteOtherEmails, [tenantAppId, ids, emails.map(({ email }) => email.id)])
  await insertRows(
    database.sql,
    dataModel('EmailRecord'),
    emails.map(({ profile, email }) => ({
      tenantAppId,
      id: email.id,
      profileId: profile.id,
      value: email.value,
      type: email.type,
      isVerified: email.is_verified,
      isPrimary: email.is_primary,
      createdAt: email.created_at,
      updatedAt: email.updated_at,
    })),
    { update: ['value', 'type', 'isVerified', 'isPrimary', 'createdAt', 'updatedAt'] },
  )
}

const deleteOtherEmails = statement(
  'DELETE FROM email_record WHERE tenant_app_id = $1 AND profile_id = ANY($2) AND id <> ALL($3)',
)

/** @throws RecordError if an account does not exist, or the record names another account or another profile */
async function findAccounts(
  database: Database,
  tenantAppId: string,
  profiles: readonly ProfileRecord[],
  byId: ReadonlyMap<string, Profile>,
): Promise<string[]> {
  const platformAccounts = profiles.map(({ user_platform: platform, platform_account_id: platformAccountId }) => {
    return { platform, platformAccountId }
  })
  const accountOf = await findByPlatform(database.sql, tenantAppId, platformAccounts)
  const accountIds = profiles.map(({ account_id }, index) => {
    const platformAccount = platformAccounts[index] as PlatformAccount
    const name = platformNameOf(platformAccount)
    const id = accountOf(platformAccount)?.id
    if (id === undefined) throw new RecordError(`there is no account ${name}`)
    if (account_id !== null && account_id !== id) throw new RecordError(`the account ${account_id} is not ${name}`)
    return id
  })
  const ofAccounts = await database.reads.batch(database.sql, 'Profile', 'accountId', { id: tenantAppId }, accountIds)
  const profileOf = new Map(ofAccounts.map(({ id, accountId }) => [accountId, id]))
  for (const [index, { id }] of profiles.entries()) {
    const accountId = accountIds[index] ?? ''
    const other = profileOf.get(accountId)
    if (other !== undefined && other !== id) throw new RecordError(`its account already has the profile ${other}`)
    if ((byId.get(id)?.accountId ?? accountId) !== accountId) {
      throw new RecordError(`the profile ${id} belongs to another account`)
    }
  }
  return accountIds
}

/** @throws RecordError if an email belongs to another profile */
async function checkEmails(
  { sql, reads }: Database,
  tenantAppId: string,
  emails: readonly { readonly profile: ProfileRecord; readonly email: { readonly id: string } }[],
): Promise<void> {
  const ids = emails.map(({ email }) => email.id)
  const existing = await reads.batch(sql, 'EmailRecord', 'id', { id: tenantAppId }, ids)
  const profileOf = new Map(existing.map(({ id, profileId }) => [id, profileId]))
  for (const { profile, email } of emails) {
    if ((profileOf.get(email.id) ?? profile.id) !== profile.id) {
      throw new RecordError(`the email ${email.id} belongs to another profile`)
    }
  }
}
