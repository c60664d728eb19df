import type { z } from 'zod'
import type { Database } from '../../engine/db/database.ts'
import { RecordError, type Transfer } from '../resource.ts'
import { fullUserSelection, userRecord } from './user.record.ts'

type UserRecord = z.output<typeof userRecord>

/** Users with their accounts. */
export const userTransfer: Transfer<UserRecord> = {
  listKey: 'users',
  recognisedBy: 'accounts',
  record: userRecord,
  write: writeUsers,
  export: {
    operation: `query ExportUsers($first: Int, $after: String) {
      users(first: $first, after: $after) { nodes { ${fullUserSelection} } pageInfo { hasNextPage endCursor } }
    }`,
    path: 'users.nodes',
    connection: 'users',
    // The tenant has another id where the records are imported.
    without: ['tenant_app_id'],
  },
}

/**
 * Writes users and their accounts. Accounts that a record does not name stay.
 *
 * @throws RecordError if a record moves an account to another user or platform account
 */
async function writeUsers(database: Database, tenantAppId: string, users: readonly UserRecord[]): Promise<void> {
  const accounts = users.flatMap((user) => user.accounts.map((account, index) => ({ user, account, index })))
  const ids = accounts.map(({ account }) => account.id)
  const existing = await database.reads.batch('Account', 'id', { tenantAppId }, ids)
  const byId = new Map(existing.map((account) => [account.id, account]))
  for (const { user, account } of accounts) {
    const row = byId.get(account.id)
    if (!row) continue
    if (row.userId !== user.id) throw new RecordError(`the account ${account.id} belongs to another user`)
    if (row.platform !== account.user_platform || row.platformAccountId !== account.platform_account_id) {
      throw new RecordError(`the account ${account.id} has another platform or platform account id`)
    }
  }
  await database.insertRows(
    'User',
    users.map(({ id, name, email, phone, created_at: createdAt, updated_at: updatedAt }) => ({
      tenantAppId,
      id,
      name,
      email,
      phone,
      createdAt,
      updatedAt,
    })),
    { update: ['name', 'email', 'phone', 'createdAt', 'updatedAt'] },
  )
  await database.insertRows(
    'Account',
    accounts.map(({ user, account, index }) => {
      // A record does not have the creation time of an account, but its position in the list, which follows that time.
      const createdAt = new Date(user.created_at.getTime() + index)
      const { id, user_platform: platform, platform_account_id: platformAccountId, display_name: displayName } = account
      return {
        tenantAppId,
        id,
        userId: user.id,
        platform,
        platformAccountId,
        displayName,
        createdAt,
        updatedAt: createdAt,
      }
    }),
    { update: ['displayName'] },
  )
}
