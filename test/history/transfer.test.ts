import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeOldMetrics } from '../../src/domain/profile/profile-metric.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { exportAll, importText } from '../support/transfer.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const dayMilliseconds = 86_400_000
const daysAgo = (days: number) =>
  new Date((Math.floor(Date.now() / dayMilliseconds) - days) * dayMilliseconds).toISOString().slice(0, 10)

async function createProfile(of: TestTenant, given: object) {
  const create = factoriesFor(app, of)
  const account = await create.account((await create.user()).id)
  return create.profile(account, given)
}

const followersOf = async (tenantAppId: string, profileId?: string) => {
  const where = { tenantAppId, ...(profileId !== undefined && { profileId }) }
  const rows = await app.database.prisma.profileMetric.findMany({ where, orderBy: { day: 'asc' } })
  return rows.map(({ day, followersCount }) => [day.toISOString().slice(0, 10), Number(followersCount)])
}

const metric = (record: object) => JSON.stringify({ kind: 'profile_metric', ...record })

describe('records of a history', () => {
  it('go through an export and an import unchanged, also when a profile was synchronized after its last change', async () => {
    const source = await app.createTenant()
    const profile = await createProfile(source, { followersCount: 5, syncedAt: new Date(daysAgo(2)) })
    const rows = [daysAgo(30), daysAgo(20)].map((day, index) =>
      metric({ profile_id: profile.id, day, followers_count: index + 4, watch_time_in_hours: 0.5 }),
    )
    await app.database.prisma.profileMetric.deleteMany({ where: { tenantAppId: source.tenantAppId } })
    const of = { id: source.tenantAppId, name: source.name } as Awaited<ReturnType<typeof createTenant>>
    expect(await importText(app.database, of, rows.join('\n'))).toMatchObject({ imported: 2, rejections: [] })
    await app.database.prisma.profileMetric.updateMany({
      where: { tenantAppId: source.tenantAppId },
      data: { watchTimeInHours: null },
    })
    const { text } = await exportAll(app.database, of)
    expect(text).toContain(
      `{"kind":"profile_metric","profile_id":"${profile.id}","day":"${daysAgo(20)}","followers_count":5,"following_count":null,`,
    )
    const copy = await createTenant(app.database, 'Copy of a history')
    expect((await importText(app.database, copy, text)).rejections).toEqual([])
    expect(await followersOf(copy.id)).toEqual([
      [daysAgo(30), 4],
      [daysAgo(20), 5],
    ])
    expect((await exportAll(app.database, copy)).text).toBe(text)
    expect((await importText(app.database, copy, text)).rejections).toEqual([])
    expect((await exportAll(app.database, copy)).text).toBe(text)
  })

  it('name the profile or its account, and replace the numbers of the day', async () => {
    const profile = await createProfile(tenant, { followersCount: 9 })
    const of = { id: tenant.tenantAppId, name: tenant.name } as Awaited<ReturnType<typeof createTenant>>
    const day = daysAgo(4)
    const records = [
      metric({ account_id: profile.accountId, day, followers_count: 1 }),
      metric({ profile_id: profile.id, account_id: profile.accountId, day: daysAgo(5), followers_count: 2 }),
    ]
    expect(await importText(app.database, of, records.join('\n'))).toMatchObject({ imported: 2, rejections: [] })
    await importText(app.database, of, metric({ profile_id: profile.id, day, followers_count: 3 }))
    expect(await followersOf(tenant.tenantAppId, profile.id)).toEqual([
      [daysAgo(5), 2],
      [day, 3],
      [daysAgo(0), 9],
    ])
    const rejected = [
      [{ profile_id: 'none', day }, 'there is no profile none'],
      [{ account_id: 'none', day }, 'the account none has no profile'],
      [{ profile_id: profile.id, account_id: 'none', day }, `the profile ${profile.id} belongs to another account`],
      [{ day }, 'profile_id: or `account_id` is required'],
      [{ profile_id: profile.id, day: daysAgo(-2) }, 'day: must not be in the future, in UTC'],
      [{ profile_id: profile.id, day: '2026-02-30' }, 'day: must be a date that exists'],
      [{ profile_id: profile.id, day, followers_count: -1 }, /^followers_count: /],
      [{ kind: 'other', profile_id: profile.id, day }, 'kind: must be `profile_metric`'],
    ] as const
    const { imported, rejections } = await importText(
      app.database,
      of,
      rejected.map(([record]) => metric(record)).join('\n'),
    )
    expect(imported).toBe(0)
    const reasons = rejections.map(({ reason }) => reason)
    for (const [, reason] of rejected) expect(reasons).toContainEqual(expect.stringMatching(reason))
  })
})

describe('days that are over for long', () => {
  it('are removed page by page, and with 0 all', async () => {
    const of = await app.createTenant()
    const profile = await createProfile(of, { followersCount: 9 })
    await app.database.prisma.$executeRawUnsafe(`
      INSERT INTO profile_metric (tenant_app_id, profile_id, day, followers_count)
      SELECT '${of.tenantAppId}', '${profile.id}', (now() AT TIME ZONE 'UTC')::date - n, n FROM generate_series(1, 1300) AS n`)
    const statements = await app.statementsOf(() => removeOldMetrics(app.database, 730))
    expect(statements.filter((sql) => sql.includes('DELETE') && sql.includes('profile_metric')).length).toBeGreaterThan(
      1,
    )
    const kept = await followersOf(of.tenantAppId, profile.id)
    expect(kept).toHaveLength(730)
    expect(kept[0]).toEqual([daysAgo(729), 729])
    await removeOldMetrics(app.database, 0)
    expect(await followersOf(of.tenantAppId)).toEqual([])
  })
})
