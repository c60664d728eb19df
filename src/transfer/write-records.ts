import { isDeepStrictEqual } from 'node:util'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Database } from '../db/database.ts'
import type { Job } from '../db/generated/prisma/client.ts'
import { type InsertRows, insertRows } from '../db/insert.ts'
import { type JobRecord, type ProfileRecord, RecordError, type UserRecord } from './records.ts'

/** Where records are written: a database, or a transaction of one. */
export type RecordStore = Pick<Database, 'read' | 'model'> & { readonly sql: SqlQueryable }

/**
 * Writes records of one kind. Writing the same again changes nothing.
 *
 * @throws RecordError for a record that contradicts what is there; the database's error where it refuses one
 */
export type WriteRecords<Value> = (store: RecordStore, tenantAppId: string, records: readonly Value[]) => Promise<void>

/**
 * Users and their accounts. An account keeps what it is on the platform and whose it is: a record that says otherwise
 * is refused. Accounts that the record does not name stay.
 */
export const writeUsers: WriteRecords<UserRecord> = async (store, tenantAppId, users) => {
  const accounts = users.flatMap((user) => user.accounts.map((account, index) => ({ user, account, index })))
  const known = await store.read(
    'Account',
    'id',
    tenantAppId,
    accounts.map(({ account }) => account.id),
  )
  const byId = new Map(known.map((account) => [account.id, account]))
  for (const { user, account } of accounts) {
    const before = byId.get(account.id)
    if (!before) continue
    if (before.userId !== user.id) throw new RecordError(`the account ${account.id} belongs to another user`)
    if (before.platform !== account.user_platform || before.platformAccountId !== account.platform_account_id) {
      throw new RecordError(`the account ${account.id} is another one on its platform`)
    }
  }
  await insert(store, 'User', {
    fields: ['tenantAppId', 'id', 'name', 'email', 'phone', 'createdAt', 'updatedAt'],
    rows: users.map((user) => {
      const { id, name, email, phone, created_at, updated_at } = user
      return [tenantAppId, id, name, email, phone, created_at, updated_at]
    }),
    onConflict: { update: ['name', 'email', 'phone', 'createdAt', 'updatedAt'] },
  })
  await insert(store, 'Account', {
    fields: ['tenantAppId', 'id', 'userId', 'platform', 'platformAccountId', 'displayName', 'createdAt', 'updatedAt'],
    rows: accounts.map(({ user, account, index }) => {
      // A record does not say when an account was made, but its place in the list, which is by when it was made.
      const createdAt = new Date(user.created_at.getTime() + index)
      const { id, user_platform, platform_account_id, display_name } = account
      return [tenantAppId, id, user.id, user_platform, platform_account_id, display_name, createdAt, createdAt]
    }),
    onConflict: { update: ['displayName'] },
  })
}

const profileColumns = {
  username: 'username',
  url: 'url',
  gender: 'gender',
  fullName: 'full_name',
  firstName: 'first_name',
  lastName: 'last_name',
  nickName: 'nick_name',
  displayName: 'display_name',
  description: 'description',
  profilePictureUrl: 'profile_picture_url',
  dateOfBirth: 'date_of_birth',
  category: 'category',
  websiteUrl: 'website_url',
  country: 'country',
  followersCount: 'followers_count',
  followingCount: 'following_count',
  subscribersCount: 'subscribers_count',
  contentsCount: 'contents_count',
  watchTimeInHours: 'watch_time_in_hours',
  joinedAt: 'joined_at',
  verified: 'verified',
} as const satisfies Record<string, keyof ProfileRecord>

/** Profiles and their emails: a record's emails replace those that are there. */
export const writeProfiles: WriteRecords<ProfileRecord> = async (store, tenantAppId, profiles) => {
  const accountIds = await findAccounts(store, tenantAppId, profiles)
  const emails = profiles.flatMap((profile) => profile.emails.map((email) => ({ profile, email })))
  const known = await store.read(
    'EmailRecord',
    'id',
    tenantAppId,
    emails.map(({ email }) => email.id),
  )
  const profileOf = new Map(known.map(({ id, profileId }) => [id, profileId]))
  for (const { profile, email } of emails) {
    if ((profileOf.get(email.id) ?? profile.id) !== profile.id) {
      throw new RecordError(`the email ${email.id} belongs to another profile`)
    }
  }
  const now = new Date()
  const fields = Object.keys(profileColumns)
  const columns = Object.values(profileColumns)
  await insert(store, 'Profile', {
    fields: [
      ...['tenantAppId', 'id', 'accountId', 'platform', 'platformAccountId', 'createdAt', 'updatedAt'],
      ...[...fields, 'phoneNumbers', 'addresses'],
    ],
    rows: profiles.map((profile, index) => [
      ...[
        tenantAppId,
        profile.id,
        accountIds[index] ?? null,
        profile.user_platform,
        profile.platform_account_id,
        now,
        now,
      ],
      ...columns.map((column) => profile[column]),
      ...[JSON.stringify(profile.phone_numbers), JSON.stringify(profile.addresses)],
    ]),
    onConflict: { update: [...fields, 'phoneNumbers', 'addresses'] },
  })
  await deleteOtherEmails(store, tenantAppId, profiles)
  await insert(store, 'EmailRecord', {
    fields: ['tenantAppId', 'id', 'profileId', 'value', 'type', 'isVerified', 'isPrimary', 'createdAt', 'updatedAt'],
    rows: emails.map(({ profile, email }) => {
      const { id, value, type, is_verified, is_primary, created_at, updated_at } = email
      return [tenantAppId, id, profile.id, value, type, is_verified, is_primary, created_at, updated_at]
    }),
    onConflict: { update: ['value', 'type', 'isVerified', 'isPrimary', 'createdAt', 'updatedAt'] },
  })
}

/** The id of each profile's account. */
async function findAccounts(
  { read }: RecordStore,
  tenantAppId: string,
  profiles: readonly ProfileRecord[],
): Promise<string[]> {
  const platformIds = profiles.map(({ platform_account_id }) => platform_account_id)
  const accounts = await read('Account', 'platformAccountId', tenantAppId, platformIds)
  const key = (platform: string, platformAccountId: string) => `${platform} ${platformAccountId}`
  const byKey = new Map(accounts.map(({ id, platform, platformAccountId }) => [key(platform, platformAccountId), id]))
  const accountIds = profiles.map(({ account_id, user_platform, platform_account_id }) => {
    const id = byKey.get(key(user_platform, platform_account_id))
    if (id === undefined) throw new RecordError(`there is no account ${user_platform} ${platform_account_id}`)
    if (account_id !== null && account_id !== id) {
      throw new RecordError(`the account ${account_id} is not ${user_platform} ${platform_account_id}`)
    }
    return id
  })
  const known = await read('Profile', 'accountId', tenantAppId, accountIds)
  const profileOf = new Map(known.map(({ id, accountId }) => [accountId, id]))
  for (const [index, { id }] of profiles.entries()) {
    const before = profileOf.get(accountIds[index] ?? '')
    if (before !== undefined && before !== id) throw new RecordError(`its account has the profile ${before} already`)
  }
  const moved = await read(
    'Profile',
    'id',
    tenantAppId,
    profiles.map(({ id }) => id),
  )
  for (const { id, accountId } of moved) {
    const index = profiles.findIndex((profile) => profile.id === id)
    if (accountIds[index] !== accountId) throw new RecordError(`the profile ${id} belongs to another account`)
  }
  return accountIds
}

async function deleteOtherEmails(
  { sql }: RecordStore,
  tenantAppId: string,
  profiles: readonly ProfileRecord[],
): Promise<void> {
  const list = { scalarType: 'string', arity: 'list' } as const
  await sql.executeRaw({
    sql: 'DELETE FROM email_record WHERE tenant_app_id = $1 AND profile_id = ANY($2) AND id <> ALL($3)',
    args: [tenantAppId, profiles.map(({ id }) => id), profiles.flatMap(({ emails }) => emails.map(({ id }) => id))],
    argTypes: [{ scalarType: 'string', arity: 'scalar' }, list, list],
  })
}

/**
 * Jobs. One that does not say when it was made was made now. The record of one that the queue delivers here is the
 * worker's to change: it is passed over while it says the same, and refused when it says something else.
 */
export const writeJobs: WriteRecords<JobRecord> = async (store, tenantAppId, jobs) => {
  const ids = jobs.map(({ id }) => id)
  const byId = new Map((await store.read('Job', 'id', tenantAppId, ids)).map((job) => [job.id, job]))
  const brought = jobs.filter((record) => {
    const job = byId.get(record.id)
    if (!job || job.runAt === null) return true
    if (!saysTheSame(record, job)) throw new RecordError(`the job ${job.id} is worked on here`)
    return false
  })
  const now = new Date()
  await insert(store, 'Job', {
    fields: ['tenantAppId', 'id', 'status', 'jobType', 'payload', 'result', 'attempts', 'createdAt', 'updatedAt'],
    rows: brought.map(({ id, status, job_type, payload, result, attempts, created_at, updated_at }) => [
      ...[tenantAppId, id, status.toUpperCase(), job_type],
      ...[payload && JSON.stringify(payload), result && JSON.stringify(result), attempts],
      created_at ?? byId.get(id)?.createdAt ?? now,
      updated_at ?? byId.get(id)?.updatedAt ?? now,
    ]),
    onConflict: { update: ['status', 'jobType', 'payload', 'result', 'attempts', 'createdAt', 'updatedAt'] },
  })
}

function saysTheSame(record: JobRecord, job: Job): boolean {
  const { status, job_type, payload, result, attempts, updated_at } = record
  return isDeepStrictEqual(
    [status.toUpperCase(), job_type, payload, result, attempts, updated_at ?? job.updatedAt],
    [job.status, job.jobType, job.payload, job.result, job.attempts, job.updatedAt],
  )
}

function insert({ sql, model }: RecordStore, modelName: string, rows: InsertRows): Promise<number> {
  return insertRows(sql, model, modelName, rows)
}
