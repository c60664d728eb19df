import type { Database } from '../../engine/db/database.ts'
import type { Account } from '../../engine/db/generated/prisma/client.ts'
import { selectColumns } from '../../engine/db/read/columns.ts'
import { query, statement } from '../../engine/db/statement.ts'

/** What identifies an account on its platform. */
export type PlatformAccount = Pick<Account, 'platform' | 'platformAccountId'>

export type AccountStore = ReturnType<typeof createAccountStore>

export function createAccountStore({ sql, model }: Pick<Database, 'sql' | 'model'>) {
  const { list, toRow } = selectColumns(model('Account'))
  const columns = list
    .split(', ')
    .map((column) => `account.${column}`)
    .join(', ')

  // One look-up in the unique index per account. With a list of ids, PostgreSQL may compare the trigrams of each id
  // instead.
  const findByPlatform = statement(`
    SELECT ${columns} FROM unnest($2::text[], $3::text[]) AS wanted (platform, platform_account_id)
    JOIN account ON account.tenant_app_id = $1 AND account.platform = wanted.platform
      AND account.platform_account_id = wanted.platform_account_id`)

  return {
    /** Finds accounts of a tenant. Returns a function that returns the account of a platform account. */
    async findByPlatform(tenantAppId: string, wanted: readonly PlatformAccount[]) {
      if (wanted.length === 0) return () => undefined
      const rows = await query(sql, findByPlatform, [
        tenantAppId,
        wanted.map(({ platform }) => platform),
        wanted.map(({ platformAccountId }) => platformAccountId),
      ])
      const accounts = rows.map(toRow) as unknown as Account[]
      const byName = new Map(accounts.map((account) => [platformNameOf(account), account]))
      return (of: PlatformAccount) => byName.get(platformNameOf(of))
    },
  }
}

/** `{ platform: 'YOUTUBE', platformAccountId: 'UC1' }` ⇒ `YOUTUBE UC1`. No platform has a space. */
export function platformNameOf({ platform, platformAccountId }: PlatformAccount): string {
  return `${platform} ${platformAccountId}`
}
