import { AccountStatus, type Database, dataModel } from '@fusion-gateway/database'
import { id, orNull, recordTime } from '@fusion-gateway/input'
import { insertRows, updateEach } from '@fusion-gateway/prisma-trees'
import { lastTime } from '@fusion-gateway/sql'
import { z } from 'zod'
import { RecordError, type Transfer } from '../resource.ts'
import { userFields } from '../user/user.input.ts'
import { accountFields } from './account.input.ts'

/** The GraphQL selection of an account in REST. The aliases are the keys of the record. */
const accountSelection = `
    id
    user_platform: platform
    platform_account_id: platformAccountId
    display_name: displayName
  `

/** The same with the fields of an account that is read for itself. */
export const fullAccountSelection = `${accountSelection}
    status
    created_at: createdAt
    updated_at: updatedAt`

const statuses = Object.values(AccountStatus).map((status) => status.toLowerCase())

const accountRecord = z.object({
  id,
  user_platform: accountFields.platform,
  platform_account_id: accountFields.platformAccountId,
  display_name: accountFields.displayName,
  // The accounts of a user in REST lack these.
  status: orNull(z.enum(statuses, `must be one of ${statuses.join(', ')}`)),
  created_at: orNull(recordTime),
  updated_at: orNull(recordTime),
})

/** The GraphQL selection of a user in REST, without accounts. The aliases are the keys of the record. */
export const userSelection = `
  id
  created_at: createdAt
  updated_at: updatedAt
  name
  email
  phone
  external_id: externalId
  metadata
  tenant_app_id: tenantAppId`

export const fullUserSelection = `${userSelection}
  accounts { ${accountSelection} }`

const userRecord = z.object({
  id,
  created_at: recordTime,
  updated_at: recordTime,
  name: userFields.name,
  email: userFields.email,
  phone: orNull(userFields.phone),
  // A record of another service, which does not know them, leaves them as they are.
  external_id: userFields.externalId.nullish(),
  metadata: userFields.metadata.nullish(),
  accounts: z.array(accountRecord),
})

type UserRecord = z.output<typeof userRecord>

export const userTransfer: Transfer<UserRecord> = {
  listKey: 'users',
  recognisedBy: 'accounts',
  record: userRecord,
  write: writeUsers,
  export: {
    operation: `query ExportUsers($first: Int, $after: String) {
      users(first: $first, after: $after) {
        nodes {
          ${userSelection}
          accounts { ${fullAccountSelection} }
        }
        pageInfo { hasNextPage endCursor }
      }
    }`,
    path: 'users.nodes',
    connection: 'users',
    changedBy: 'events of users',
    nulls: ['external_id', 'metadata'],
    // The tenant has another id where the records are imported.
    without: ['tenant_app_id'],
  },
}

/**
 * Writes users and their accounts. Accounts that a record does not name stay.
 *
 * @throws RecordError if a record moves an account to another user or platform account, or has the external id of a
 *   user whom no record names
 */
async function writeUsers(database: Database, tenantAppId: string, users: readonly UserRecord[]): Promise<void> {
  const accounts = users.flatMap((user) => user.accounts.map((account, index) => ({ user, account, index })))
  const ids = accounts.map(({ account }) => account.id)
  const existing = await database.reads.batch(database.sql, 'Account', 'id', { id: tenantAppId }, ids)
  const byId = new Map(existing.map((account) => [account.id, account]))
  for (const { user, account } of accounts) {
    const row = byId.get(account.id)
    if (!row) continue
    if (row.userId !== user.id) throw new RecordError(`the account ${account.id} belongs to another user`)
    if (row.platform !== account.user_platform || row.platformAccountId !== account.platform_account_id) {
      throw new RecordError(`the account ${account.id} has another platform or platform account id`)
    }
  }
  await releaseExternalIds(database, tenantAppId, users)
  for (const alike of Map.groupBy(users, (user) => Object.keys(ofOtherSystem(user)).join()).values()) {
    const [first] = alike as [UserRecord]
    await insertRows(
      database.sql,
      dataModel('User'),
      alike.map((user) => {
        const { id, name, email, phone, created_at: createdAt, updated_at: updatedAt } = user
        return { tenantAppId, id, name, email, phone, ...ofOtherSystem(user), createdAt, updatedAt }
      }),
      { update: ['name', 'email', 'phone', ...Object.keys(ofOtherSystem(first)), 'createdAt', 'updatedAt'] },
    )
  }
  await insertRows(
    database.sql,
    dataModel('Account'),
    accounts.map(({ user, account, index }) => {
      const { id, user_platform: platform, platform_account_id: platformAccountId, display_name: displayName } = account
      const row = byId.get(id)
      // A record of REST does not have the creation time of an account, but its position in the list, which follows
      // that time.
      const createdAt =
        account.created_at ?? row?.createdAt ?? new Date(Math.min(user.created_at.getTime() + index, lastTime))
      return {
        tenantAppId,
        id,
        userId: user.id,
        platform,
        platformAccountId,
        displayName,
        status: account.status?.toUpperCase() ?? row?.status ?? AccountStatus.CONNECTED,
        createdAt,
        updatedAt: account.updated_at ?? row?.updatedAt ?? createdAt,
      }
    }),
    { update: ['displayName', 'status', 'createdAt', 'updatedAt'] },
  )
}

/** The fields of a user that only records of this gateway have. What a record does not have keeps its value. */
function ofOtherSystem({ external_id: externalId, metadata }: UserRecord) {
  return {
    ...(externalId !== undefined && { externalId }),
    ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
  }
}

/**
 * Takes external ids from users who get another one by their own record, so that records may exchange them.
 *
 * @throws RecordError if a user has one of them whom no record names
 */
async function releaseExternalIds({ sql, reads }: Database, tenantAppId: string, users: readonly UserRecord[]) {
  const idOf = new Map(users.flatMap(({ id, external_id: externalId }) => (externalId ? [[externalId, id]] : [])))
  if (idOf.size === 0) return
  const owner = { id: tenantAppId }
  const holders = await reads.batch(sql, 'User', 'externalId', owner, [...idOf.keys()])
  const others = holders.filter(({ id, externalId }) => idOf.get(externalId as string) !== id)
  const named = new Set(users.filter(({ external_id }) => external_id !== undefined).map(({ id }) => id))
  const [kept] = others.filter(({ id }) => !named.has(id))
  if (kept) throw new RecordError(`the external id ${kept.externalId} belongs to the user ${kept.id}`)
  const changes = others.map(({ id }) => ({ where: { id }, data: { externalId: null } }))
  await updateEach({ sql, owner, model: dataModel }, 'User', changes)
}
