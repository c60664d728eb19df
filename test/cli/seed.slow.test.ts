import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { createTestDatabase, type TestDatabase, withNewSessions } from '../support/database.ts'

/** More than one batch of the seed. */
const users = 1_100

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  for (const id of ['a', 'b', 'c']) await database.prisma.tenantApp.create({ data: { id, name: id } })
})
afterAll(() => database.close())

/** Reads all rows of a tenant in order, without the id of the tenant. */
async function rowsOf(tenantAppId: string): Promise<string> {
  const { prisma } = database
  const [where, orderBy, omit] = [{ tenantAppId }, { id: 'asc' as const }, { tenantAppId: true as const }]
  const tables = [
    await prisma.user.findMany({ where, orderBy, omit }),
    await prisma.account.findMany({ where, orderBy, omit }),
    await prisma.profile.findMany({ where, orderBy, omit }),
    await prisma.emailRecord.findMany({ where, orderBy, omit }),
    await prisma.profileMetric.findMany({ where, orderBy: [{ profileId: 'asc' }, { day: 'asc' }], omit }),
  ]
  return JSON.stringify(tables, (_key, value) => (typeof value === 'bigint' ? Number(value) : value))
}

describe('seed', () => {
  it('creates users with 3 accounts, a profile per account and 2 emails per profile, and reports its progress', async () => {
    const reports: number[] = []
    const onProgress = (done: number) => reports.push(done)
    expect(await seedTenant(database, { tenantAppId: 'a', users, seed: 1, onProgress })).toBe(users * 13)
    expect(reports.at(-1)).toBe(users)
    expect(reports).toEqual([...reports].sort((one, two) => one - two))
    const { prisma } = database
    const where = { tenantAppId: 'a' }
    expect(await prisma.user.count({ where })).toBe(users)
    expect(await prisma.account.count({ where })).toBe(3 * users)
    expect(await prisma.emailRecord.count({ where })).toBe(6 * users)
    expect(await prisma.account.count({ where: { ...where, profile: null } })).toBe(0)
    // The day of the synchronization, and 13 weeks of the first 26 users.
    expect(await prisma.profileMetric.count({ where })).toBe(3 * users + 3 * 13 * 26)
  })

  it('creates the same rows for the same seed, and rows with other ids for another seed', async () => {
    await withNewSessions(database, (other) => seedTenant(other, { tenantAppId: 'b', users, seed: 1 }))
    await withNewSessions(database, (other) => seedTenant(other, { tenantAppId: 'c', users, seed: 1_025 }))
    const first = await rowsOf('a')
    expect(await rowsOf('b')).toBe(first)
    expect(await rowsOf('c')).not.toBe(first)
    // The two seeds have no ids in common.
    expect(await seedTenant(database, { tenantAppId: 'c', users: 100, seed: 1 })).toBe(100 * 13)
  })

  it('changes nothing when it runs again', async () => {
    const before = await rowsOf('a')
    expect(await seedTenant(database, { tenantAppId: 'a', users, seed: 1 })).toBe(0)
    expect(await rowsOf('a')).toBe(before)
  })
})
