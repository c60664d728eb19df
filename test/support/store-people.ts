import type { TestApp, TestTenant } from './app.ts'
import { factoriesFor } from './factories.ts'
import type { People } from './filters.ts'

/** Writes people into a tenant. */
export async function storePeople(app: TestApp, owner: TestTenant, { User, Account, Profile }: People): Promise<void> {
  const create = factoriesFor(app, owner)
  for (const row of User) await create.user(row)
  for (const { userId, ...row } of Account) await create.account(userId, row)
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
  await app.database.prisma.profile.createMany({ data })
}
