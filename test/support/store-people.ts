import type { TestApp, TestTenant } from './app.ts'
import { factoriesFor } from './factories.ts'
import type { People } from './filters.ts'

/** Stores people as the rows of a tenant. */
export async function storePeople(app: TestApp, owner: TestTenant, { User, Account, Profile }: People): Promise<void> {
  const create = factoriesFor(app, owner)
  for (const row of User) await create.user(row)
  for (const { userId, ...row } of Account) await create.account(userId, row)
  const { prisma } = app.database
  const toBigInt = (count: number | null) => (count === null ? null : BigInt(count))
  const data = Profile.map((row) => ({
    ...row,
    tenantAppId: owner.tenantAppId,
    platformAccountId: row.accountId,
    followersCount: toBigInt(row.followersCount),
    followingCount: toBigInt(row.followingCount),
    subscribersCount: toBigInt(row.subscribersCount),
    contentsCount: toBigInt(row.contentsCount),
  }))
  await prisma.profile.createMany({ data })
}

/** What a user's token can see. */
export function ofUser({ User, Account, Profile }: People, userId: string): People {
  const accounts = Account.filter((row) => row.userId === userId)
  return {
    User: User.filter(({ id }) => id === userId),
    Account: accounts,
    Profile: Profile.filter(({ accountId }) => accounts.some(({ id }) => id === accountId)),
  }
}
