import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const dayMilliseconds = 86_400_000
const today = () => Math.floor(Date.now() / dayMilliseconds)
const dateOf = (day: number) => new Date(day * dayMilliseconds)
/** The day so many days ago: `2026-01-31`. */
const daysAgo = (days: number) =>
  dateOf(today() - days)
    .toISOString()
    .slice(0, 10)
const timeOf = (day: string) => `${day}T00:00:00.000Z`

async function createProfile(given: object = {}) {
  const create = factoriesFor(app, tenant)
  const account = await create.account((await create.user()).id)
  return create.profile(account, given)
}

/** Replaces the history of a profile: its followers by day. */
async function setHistory(profileId: string, followers: Readonly<Record<string, number | null>>): Promise<void> {
  const { prisma } = app.database
  const { tenantAppId } = tenant
  await prisma.profileMetric.deleteMany({ where: { tenantAppId, profileId } })
  const data = Object.entries(followers).map(([day, followersCount]) => ({
    tenantAppId,
    profileId,
    day: new Date(day),
    followersCount,
  }))
  await prisma.profileMetric.createMany({ data })
}

const rowsOf = async (profileId: string) => {
  const where = { tenantAppId: tenant.tenantAppId, profileId }
  const rows = await app.database.prisma.profileMetric.findMany({ where, orderBy: { day: 'asc' } })
  return rows.map(({ day, followersCount, watchTimeInHours }) => [
    day.toISOString().slice(0, 10),
    followersCount === null ? null : Number(followersCount),
    watchTimeInHours,
  ])
}

async function sync(accountId: string, numbers: object): Promise<void> {
  const mutation = `mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { message } } }`
  const { data, errors } = await app.graphql(tenant, mutation, { input: { accountId, ...numbers } })
  expect({ data, errors }).toMatchObject({ data: { syncProfile: { userErrors: [] } } })
}

async function historyOf(id: string, args: string) {
  const query = `query ($id: ID!) { profile(id: $id) { history(${args}) { at value change } } }`
  const { data, errors } = await app.graphql<{ profile: { history: unknown } }>(tenant, query, { id })
  expect(errors).toBeUndefined()
  return data.profile.history
}

async function errorOf(id: string, field: string) {
  const { errors } = await app.graphql(tenant, `query ($id: ID!) { profile(id: $id) { ${field} } }`, { id })
  return errors?.[0]
}

describe('the history of a profile is written', () => {
  it('at most once a day, and only when a number changes', async () => {
    const create = factoriesFor(app, tenant)
    const account = await create.account((await create.user()).id)
    await sync(account.id, { username: 'ada' })
    const profile = await app.database.prisma.profile.findFirstOrThrow({ where: { accountId: account.id } })
    expect(await rowsOf(profile.id)).toEqual([])
    await sync(account.id, { followersCount: 1 })
    await sync(account.id, { followersCount: 2 })
    await sync(account.id, { followersCount: 2, username: 'ada2' })
    expect(await rowsOf(profile.id)).toEqual([[daysAgo(0), 2, null]])
    await setHistory(profile.id, { [daysAgo(1)]: 2 })
    await sync(account.id, { followersCount: 2, username: 'ada3' })
    expect(await rowsOf(profile.id)).toEqual([[daysAgo(1), 2, null]])
    await sync(account.id, { watchTimeInHours: 1.5 })
    expect(await rowsOf(profile.id)).toEqual([
      [daysAgo(1), 2, null],
      [daysAgo(0), 2, 1.5],
    ])
  })

  it('whoever writes the profile, at the day of its synchronization', async () => {
    const profile = await createProfile({ followersCount: 5, syncedAt: new Date(daysAgo(3)) })
    expect(await rowsOf(profile.id)).toEqual([[daysAgo(3), 5, null]])
    await app.database.prisma.$executeRaw`UPDATE profile SET followers_count = 6 WHERE id = ${profile.id}`
    expect(await rowsOf(profile.id)).toEqual([
      [daysAgo(3), 5, null],
      [daysAgo(0), 6, null],
    ])
    await app.database.prisma.account.deleteMany({ where: { id: profile.accountId } })
    expect(await rowsOf(profile.id)).toEqual([])
  })

  it('at no later day than today', async () => {
    const profile = await createProfile({ followersCount: 5, syncedAt: new Date('2999-01-01') })
    expect(await rowsOf(profile.id)).toEqual([[daysAgo(0), 5, null]])
  })
})

describe('the history of a profile has', () => {
  it('a point for each day with a row, and the change since the row before, which can be before the range', async () => {
    const { id } = await createProfile()
    await setHistory(id, { '2026-01-01': 10, '2026-01-05': 12, '2026-01-06': null, '2026-01-08': 20, '2026-02-01': 30 })
    expect(await historyOf(id, `metric: FOLLOWERS, from: "2026-01-02T12:00:00Z", to: "2026-01-31T00:00:00Z"`)).toEqual([
      { at: '2026-01-05T00:00:00.000Z', value: 12, change: 2 },
      { at: '2026-01-06T00:00:00.000Z', value: null, change: null },
      { at: '2026-01-08T00:00:00.000Z', value: 20, change: null },
    ])
    expect(await historyOf(id, `metric: CONTENTS, from: "2026-02-01T12:00:00Z", to: "2026-02-01T13:00:00Z"`)).toEqual([
      { at: '2026-02-01T00:00:00.000Z', value: null, change: null },
    ])
  })

  it('the last number of each week from Monday, and of each month', async () => {
    const { id } = await createProfile()
    // 2026-01-05 is a Monday.
    await setHistory(id, { '2026-01-04': 1, '2026-01-05': 2, '2026-01-11': 3, '2026-01-31': 5, '2026-02-02': 8 })
    const range = 'from: "2026-01-08T00:00:00Z", to: "2026-03-01T00:00:00Z"'
    expect(await historyOf(id, `metric: FOLLOWERS, interval: WEEK, ${range}`)).toEqual([
      { at: '2026-01-05T00:00:00.000Z', value: 3, change: 2 },
      { at: '2026-01-26T00:00:00.000Z', value: 5, change: 2 },
      { at: '2026-02-02T00:00:00.000Z', value: 8, change: 3 },
    ])
    expect(await historyOf(id, `metric: FOLLOWERS, interval: MONTH, ${range}`)).toEqual([
      { at: '2026-01-01T00:00:00.000Z', value: 5, change: null },
      { at: '2026-02-01T00:00:00.000Z', value: 8, change: 3 },
    ])
  })

  it('the last 90 days by default', async () => {
    const { id } = await createProfile()
    await setHistory(id, { [daysAgo(91)]: 1, [daysAgo(90)]: 2, [daysAgo(0)]: 3 })
    expect(await historyOf(id, 'metric: FOLLOWERS')).toEqual([
      { at: timeOf(daysAgo(90)), value: 2, change: 1 },
      { at: timeOf(daysAgo(0)), value: 3, change: 1 },
    ])
  })

  it('at most 1,000 points, and no range that ends before it begins', async () => {
    const { id } = await createProfile()
    const range = (days: number) =>
      `from: "${timeOf('2020-01-01')}", to: "${timeOf(days === 1_000 ? '2022-09-26' : '2022-09-27')}"`
    expect(await historyOf(id, `metric: FOLLOWERS, ${range(1_000)}`)).toEqual([])
    expect(await errorOf(id, `history(metric: FOLLOWERS, ${range(1_001)}) { at }`)).toMatchObject({
      message: expect.stringContaining('1001 intervals, and a history has at most 1000 points'),
      extensions: { code: 'BAD_USER_INPUT' },
    })
    expect(await historyOf(id, `metric: FOLLOWERS, interval: WEEK, ${range(1_001)}`)).toEqual([])
    const reversed = 'from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z"'
    expect(await errorOf(id, `history(metric: FOLLOWERS, ${reversed}) { at }`)).toMatchObject({
      message: expect.stringContaining('must not be after'),
      extensions: { code: 'BAD_USER_INPUT' },
    })
  })
})

describe('the growth of a profile', () => {
  it('is the difference to the number that it had so many days ago', async () => {
    const profile = await createProfile({ followersCount: 100 })
    await setHistory(profile.id, { [daysAgo(40)]: 50, [daysAgo(30)]: 60, [daysAgo(29)]: 70 })
    const growth =
      'a: growth(metric: FOLLOWERS) b: growth(metric: FOLLOWERS, days: 31) c: growth(metric: FOLLOWERS, days: 41) d: growth(metric: CONTENTS)'
    const { data } = await app.graphql(tenant, `query ($id: ID!) { profile(id: $id) { ${growth} } }`, {
      id: profile.id,
    })
    expect(data).toEqual({ profile: { a: 40, b: 50, c: null, d: null } })
    expect(await errorOf(profile.id, 'growth(metric: FOLLOWERS, days: -1)')).toMatchObject({
      message: expect.stringContaining('must be from 0 to 36500'),
    })
  })
})

it('60 profiles with 90 days each are one statement, together with their users', async () => {
  const other = await app.createTenant()
  const { tenantAppId } = other
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT '${tenantAppId}', 'usr_' || n, 'Ada', 'ada@example.com', now() FROM generate_series(1, 60) AS n`)
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
    SELECT '${tenantAppId}', 'acc_' || n, 'usr_' || n, 'X', 'x_' || n, 'Ada', now() FROM generate_series(1, 60) AS n`)
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, followers_count, updated_at)
    SELECT '${tenantAppId}', 'pro_' || n, 'acc_' || n, 'X', 'x_' || n, 90, now() FROM generate_series(1, 60) AS n`)
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO profile_metric (tenant_app_id, profile_id, day, followers_count)
    SELECT '${tenantAppId}', 'pro_' || n, (now() AT TIME ZONE 'UTC')::date - d, 90 - d
    FROM generate_series(1, 60) AS n, generate_series(1, 100) AS d`)
  const fields =
    'history(metric: FOLLOWERS) { at value change } growth(metric: FOLLOWERS) contents: history(metric: CONTENTS) { value }'
  const query = `{ users(first: 60) { nodes { accounts { profile { ${fields} } } } } }`
  type Read = {
    users: { nodes: { accounts: { profile: { history: unknown[]; growth: number; contents: unknown[] } }[] }[] }
  }
  let read: Read | undefined
  const statements = await app.statementsOf(async () => {
    read = (await app.graphql<Read>(other, query)).data
  })
  expect(statements).toHaveLength(1)
  const profiles = read?.users.nodes.map(({ accounts: [account] }) => account?.profile)
  expect(profiles).toHaveLength(60)
  for (const profile of profiles ?? []) {
    expect(profile?.history).toHaveLength(91)
    expect(profile?.contents).toHaveLength(91)
    expect(profile?.growth).toBe(30)
    expect(profile?.history[0]).toEqual({ at: timeOf(daysAgo(90)), value: 0, change: 1 })
  }
})

it('a REST route returns it, with the enums in lower case', async () => {
  const create = factoriesFor(app, tenant)
  const account = await create.account((await create.user()).id)
  const url = `/accounts/${account.id}/profile/history`
  expect((await app.rest(tenant, 'GET', `${url}?metric=followers`)).statusCode).toBe(404)
  const { id } = await create.profile(account)
  await setHistory(id, { '2026-01-05': 2, '2026-01-11': 3, '2026-01-20': 5 })
  const range = 'from=2026-01-01T00:00:00Z&to=2026-01-31T00:00:00Z'
  const read = await app.rest(tenant, 'GET', `${url}?metric=followers&${range}&interval=week`)
  expect(read.json()).toEqual({
    history: [
      { at: '2026-01-05T00:00:00.000Z', value: 3 },
      { at: '2026-01-19T00:00:00.000Z', value: 5, change: 2 },
    ],
  })
  for (const [search, field] of [
    ['', 'metric'],
    ['?metric=likes', 'metric'],
    ['?metric=followers&interval=year', 'interval'],
    ['?metric=followers&from=2026-01-01', 'from'],
    ['?metric=followers&from=2026-02-01T00:00:00Z&to=2026-01-31T00:00:00Z', 'from'],
    ['?metric=followers&from=2006-02-01T00:00:00Z&to=2026-01-31T00:00:00Z', 'from'],
  ]) {
    const rejected = await app.rest(tenant, 'GET', url + search)
    expect([search, rejected.statusCode]).toEqual([search, 422])
    expect(rejected.json()).toMatchObject({ code: 'BAD_USER_INPUT', errors: [{ field }] })
  }
})
