import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { runs } from '../support/runs.ts'

let app: TestApp
let tenant: TestTenant

const texts = ['DE', 'FR', 'é', 'a', 'B', null]
const pick = <Item>(items: readonly Item[], number: number) => items[number % items.length] as Item

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { tenantAppId } = tenant
  const people = Array.from({ length: 60 }, (_, number) => number)
  await app.database.prisma.user.createMany({
    data: people.map((n) => ({
      tenantAppId,
      id: `usr_${n}`,
      name: 'Ada',
      email: 'a@example.com',
      createdAt: new Date(Date.UTC(2026, n % 3, 1 + (n % 4), 23, 30)),
    })),
  })
  // The users have 0, 1 or 2 accounts.
  const accounts = people.flatMap((n) => Array.from({ length: n % 3 }, (_, i) => ({ id: `acc_${n}_${i}`, n })))
  await app.database.prisma.account.createMany({
    data: accounts.map(({ id, n }) => ({
      tenantAppId,
      id,
      userId: `usr_${n}`,
      platform: pick(['X', 'YOUTUBE'], n),
      platformAccountId: id,
      displayName: 'Ada',
    })),
  })
  await app.database.prisma.profile.createMany({
    data: accounts.map(({ id, n }, number) => ({
      tenantAppId,
      id: `pro_${number}`,
      accountId: id,
      platform: pick(['X', 'YOUTUBE'], n),
      platformAccountId: id,
      country: pick(texts, number),
      category: pick(texts, number >> 1),
      gender: pick(['FEMALE', 'MALE', null], number),
      verified: pick([true, false, null], number >> 2),
      joinedAt: number % 5 === 0 ? null : new Date(Date.UTC(2025, number % 4, 28, 23, 59)),
      syncedAt: number % 7 === 0 ? null : new Date(Date.UTC(2026, 0, 1 + (number % 3))),
      updatedAt: new Date(Date.UTC(2026, 5, 1)),
      followersCount: number % 6 === 0 ? null : 10 ** (number % 8) - (number % 2),
      contentsCount: number % 3 === 0 ? null : number,
      watchTimeInHours: number % 4 === 0 ? null : number / 4,
    })),
  })
  await app.database.prisma.job.createMany({
    data: people.map((n) => ({
      tenantAppId,
      id: `job_${n}`,
      jobType: pick(['a', 'b', null], n),
      status: pick(['PENDING', 'SUCCEEDED', 'FAILED'] as const, n >> 1),
      createdAt: new Date(Date.UTC(2026, 0, 1, n % 5, 59)),
      startedAt: n % 4 === 0 ? null : new Date(Date.UTC(2026, 0, 2)),
      finishedAt: n % 4 === 0 ? null : new Date(Date.UTC(2026, 0, 2, 0, 0, 0, n * 7)),
    })),
  })
  // Rows of the same ids, of another tenant.
  const other = await app.createTenant()
  await factoriesFor(app, other).user({ id: 'usr_1' })
})
afterAll(() => app.close())

type Value = string | number | boolean | null
type Row = Readonly<Record<string, Value>>

const startOf = (time: Date | null, length: number, end: string) => time && time.toISOString().slice(0, length) + end
const rangeOf = (count: number | null) => {
  if (count === null) return null
  if (count >= 1_000_000) return '1000000+'
  return count < 1_000 ? '0-999' : count < 10_000 ? '1000-9999' : count < 100_000 ? '10000-99999' : '100000-999999'
}
const toNumber = (count: bigint | null) => (count === null ? null : Number(count))

/** The keys and numbers of each row, from the plain rows. */
const kinds = {
  Profile: {
    root: 'profileStats',
    keys: {
      PLATFORM: 'platform',
      COUNTRY: 'country',
      CATEGORY: 'category',
      GENDER: 'gender',
      VERIFIED: 'verified',
      JOINED_MONTH: 'joinedMonth',
      SYNCED_DAY: 'syncedDay',
      FOLLOWERS_RANGE: 'followersRange',
    },
    numbers: ['followers', 'contents', 'watchTime'],
    orders: { FOLLOWERS: 'followers', CONTENTS: 'contents', WATCH_TIME: 'watchTime' },
    read: async (): Promise<Row[]> =>
      (await app.database.prisma.profile.findMany({ where: { tenantAppId: tenant.tenantAppId } })).map((row) => ({
        platform: row.platform,
        country: row.country,
        category: row.category,
        gender: row.gender,
        verified: row.verified,
        joinedMonth: startOf(row.joinedAt, 7, '-01'),
        syncedDay: startOf(row.syncedAt ?? row.updatedAt, 10, ''),
        followersRange: rangeOf(toNumber(row.followersCount)),
        followers: toNumber(row.followersCount),
        contents: toNumber(row.contentsCount),
        watchTime: row.watchTimeInHours,
      })),
  },
  User: {
    root: 'userStats',
    keys: { CREATED_DAY: 'createdDay', CREATED_MONTH: 'createdMonth', ACCOUNTS: 'accounts' },
    numbers: [],
    orders: {},
    read: async (): Promise<Row[]> =>
      (
        await app.database.prisma.user.findMany({
          where: { tenantAppId: tenant.tenantAppId },
          include: { accounts: true },
        })
      ).map(({ createdAt, accounts }) => ({
        createdDay: startOf(createdAt, 10, ''),
        createdMonth: startOf(createdAt, 7, '-01'),
        accounts: accounts.length,
      })),
  },
  Job: {
    root: 'jobStats',
    keys: { STATUS: 'status', JOB_TYPE: 'jobType', CREATED_HOUR: 'createdHour' },
    numbers: ['duration'],
    orders: {},
    read: async (): Promise<Row[]> =>
      (await app.database.prisma.job.findMany({ where: { tenantAppId: tenant.tenantAppId } })).map((row) => ({
        status: row.status,
        jobType: row.jobType,
        createdHour: startOf(row.createdAt, 13, ':00:00.000Z'),
        duration: row.startedAt && row.finishedAt && row.finishedAt.getTime() - row.startedAt.getTime(),
      })),
  },
} as const

function compareKeys(one: Value, other: Value): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1
  if (typeof one === 'number') return one - Number(other)
  // The first number of a range.
  if (/^\d+(\+|-\d+)$/.test(String(one))) return Number.parseInt(String(one), 10) - Number.parseInt(String(other), 10)
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

function distributionOf(rows: readonly Row[], name: string, p: number) {
  const numbers = rows
    .flatMap((row) => row[name] ?? [])
    .map(Number)
    .toSorted((one, other) => one - other)
  if (numbers.length === 0)
    return { sum: null, average: null, minimum: null, maximum: null, median: null, percentile: null }
  const percentile = (part: number) => numbers[Math.max(1, Math.ceil(part * numbers.length)) - 1]
  return {
    sum: expect.closeTo(sumOf(numbers), 5),
    average: expect.closeTo(sumOf(numbers) / numbers.length, 5),
    minimum: numbers.at(0),
    maximum: numbers.at(-1),
    median: percentile(0.5),
    percentile: percentile(p),
  }
}

const names = Object.keys(kinds) as (keyof typeof kinds)[]

describe.each(names)('groups of the type %s', (name) => {
  const { root, keys, numbers, orders, read } = kinds[name]

  it('equal those that JavaScript computes, by one statement', async () => {
    const rows = await read()
    const orderFields = ['COUNT', 'KEYS', ...Object.keys(orders)]
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom(...Object.keys(keys)), { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...orderFields),
        fc.constantFrom('ASC', 'DESC'),
        fc.integer({ min: 0, max: 100 }),
        fc.constantFrom(0, 0.1, 0.25, 0.75, 1),
        async (by, field, direction, first, p) => {
          const fields = by.map((key) => String((keys as Record<string, string>)[key]))
          const selected = Object.values(keys).join(' ')
          const ofNumbers = numbers.map((number) => `${number} { sum average ...rest }`).join(' ')
          const fragment =
            numbers.length > 0 ? 'fragment rest on GroupNumbers { minimum maximum median percentile(p: $p) }' : ''
          const query = `query ($by: [${name}GroupBy!]!, $orderBy: ${name}GroupOrder, $first: Int ${fragment && ', $p: Float!'}) {
            stats: ${root} { count groups(by: $by, orderBy: $orderBy, first: $first) { ${selected} count ${ofNumbers} } } } ${fragment}`
          const byKeys = Map.groupBy(rows, (row) => JSON.stringify(fields.map((key) => row[key])))
          const orderOf = (group: readonly Row[]) =>
            field === 'COUNT'
              ? group.length
              : sumOf(group.map((row) => Number(row[(orders as Record<string, string>)[field] ?? ''] ?? 0)))
          const sign = direction === 'ASC' ? 1 : -1
          const hasNone = (group: readonly Row[]) =>
            group.every((row) => row[(orders as Record<string, string>)[field] ?? ''] === null)
          const expected = [...byKeys.values()].sort((one, other) => {
            if (field in orders && hasNone(one) !== hasNone(other)) return hasNone(one) ? 1 : -1
            const difference = field === 'KEYS' ? 0 : sign * (orderOf(one) - orderOf(other))
            if (difference !== 0) return difference
            for (const key of fields) {
              const [a, b] = [one[0]?.[key] ?? null, other[0]?.[key] ?? null]
              const compared = compareKeys(a, b)
              if (compared !== 0) return field === 'KEYS' && a !== null && b !== null ? sign * compared : compared
            }
            return 0
          })
          const statements = await app.statementsOf(async () => {
            const variables = { by, orderBy: { field, direction }, first, ...(fragment && { p }) }
            const { data, errors } = await app.graphql(tenant, query, variables)
            expect(errors).toBeUndefined()
            expect(data).toEqual({
              stats: {
                count: rows.length,
                groups: expected.slice(0, first).map((group) => ({
                  ...Object.fromEntries(
                    Object.values(keys).map((key) => [key, fields.includes(key) ? group[0]?.[key] : null]),
                  ),
                  count: group.length,
                  ...Object.fromEntries(numbers.map((number) => [number, distributionOf(group, number, p)])),
                })),
              },
            })
          })
          expect(statements).toHaveLength(1)
          // Each table has the condition on the tenant.
          const [sql = ''] = statements
          expect(sql.match(/"tenant_app_id" = \$1/g)).toHaveLength(sql.match(/FROM "\w+" WHERE/g)?.length ?? 0)
        },
      ),
      { numRuns: runs(100, 12) },
    )
  })
})

describe('groups', () => {
  it('compute only the numbers that are selected', async () => {
    const statements = await app.statementsOf(() =>
      app.graphql(tenant, '{ profileStats { groups(by: [COUNTRY]) { country count contents { sum } } } }'),
    )
    expect(statements).toHaveLength(1)
    expect(statements[0]).toContain('"contents_count"')
    expect(statements[0]).not.toContain('percentile')
    expect(statements[0]).not.toContain('"followers_count"')
  })

  it('cost 50 points, one for each group, and one for each number of each', async () => {
    const costOf = async (query: string) =>
      (await app.rest(tenant, 'POST', '/graphql', { query })).headers['x-cost-requested']
    expect(await costOf('{ jobStats { groups(by: [STATUS]) { count } } }')).toBe('70')
    expect(await costOf('{ jobStats { groups(by: [STATUS], first: 100) { count } } }')).toBe('150')
    expect(await costOf('{ jobStats { groups(by: [STATUS], first: 10) { duration { sum p95 } } } }')).toBe('60')
    expect(await costOf('{ profileStats { groups(by: [COUNTRY]) { followers { sum } contents { sum } } } }')).toBe(
      '110',
    )
  })

  it.each([
    ['{ jobStats { groups(by: []) { count } } }', 'by must have 1 to 3 different keys'],
    ['{ jobStats { groups(by: [STATUS, STATUS]) { count } } }', 'by must have 1 to 3 different keys'],
    [
      '{ profileStats { groups(by: [PLATFORM, COUNTRY, CATEGORY, GENDER]) { count } } }',
      'by must have 1 to 3 different keys',
    ],
    ['{ jobStats { groups(by: [STATUS], first: 101) { count } } }', 'first must be from 0 to 100'],
    ['{ jobStats { groups(by: [STATUS]) { duration { percentile(p: 95) } } } }', 'p must be from 0 to 1'],
  ])('are rejected: %s', async (query, message) => {
    const { errors } = await app.graphql(tenant, query)
    expect(errors?.[0]).toMatchObject({ message: `Invalid input: ${message}.`, extensions: { code: 'BAD_USER_INPUT' } })
  })
})
