import type { Scope } from '@fusion-gateway/base'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { userScopes } from '../../src/domain/scopes.ts'
import { type FilterOf, isSelected, type Kind, type People } from '../differential/reference/people.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { isDistributed } from '../support/postgresql.ts'
import { runs } from '../support/runs.ts'
import { createPeople, filters, ofUser, sizeOf, storePeople } from './people.ts'

let app: TestApp
let tenant: TestTenant
let people: People
/** The tenant with a token of the user `usr_1`. */
let user: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  people = createPeople(1)
  // Two tenants have rows of the same ids with other values.
  await storePeople(app, await app.createTenant(), createPeople(7))
  await storePeople(app, tenant, people)
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId: 'usr_1', scopes: userScopes } },
  )
  user = { ...tenant, token: data.createAccessToken.accessToken }
})
afterAll(() => app.close())

const followers = 'count sum average min max p10 p25 p50 p75 p90 p99'
const queries = {
  User: `query ($filter: UserFilter, $first: Int) { stats: userStats(filter: $filter) {
    count platforms(first: $first) { value count } statuses { status count } } }`,
  Profile: `query ($filter: ProfileFilter, $first: Int) { stats: profileStats(filter: $filter) {
    count platforms(first: $first) { value count } countries(first: $first) { value count }
    categories(first: $first) { value count } verified { verified unverified unknown } statuses { status count }
    followers { ${followers} } } }`,
}

const selectedOf = <K extends Kind>(kind: K, filter: object, of: People) =>
  of[kind].filter((row) => isSelected(of, kind, row, filter as FilterOf<K>)) as unknown as People[K]

const bytes = (text: string) => Buffer.from(text)

/** The number of rows for each value, the largest first, and then by the bytes of the value. */
function countBy<Row>(rows: readonly Row[], valuesOf: (row: Row) => readonly (string | null)[]) {
  const counts = new Map<string | null, number>()
  for (const row of rows) for (const value of new Set(valuesOf(row))) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => {
      if (one.count !== other.count) return other.count - one.count
      if (one.value === null || other.value === null) return one.value === null ? 1 : -1
      return Buffer.compare(bytes(one.value), bytes(other.value))
    })
}

const beginning = (text: string | null) => text && [...text].slice(0, 200).join('')
const asStatuses = (groups: ReturnType<typeof countBy>) => groups.map(({ value: status, count }) => ({ status, count }))

/** What `userStats` returns, by JavaScript. */
function userStats(filter: object, of: People, first: number) {
  const rows = selectedOf('User', filter, of)
  const accountsOf = (id: string) => of.Account.filter(({ userId }) => userId === id)
  return {
    count: rows.length,
    platforms: countBy(rows, ({ id }) => accountsOf(id).map(({ platform }) => platform)).slice(0, first),
    statuses: asStatuses(countBy(rows, ({ id }) => accountsOf(id).map(({ status }) => status))),
  }
}

/** What `profileStats` returns, by JavaScript. */
function profileStats(filter: object, of: People, first: number) {
  const rows = selectedOf('Profile', filter, of)
  const numbers = rows.flatMap(({ followersCount }) => followersCount ?? []).toSorted((one, other) => one - other)
  const sum = numbers.reduce((total, number) => total + BigInt(number), 0n)
  const percentile = (percent: number) => numbers[Math.max(1, Math.ceil((percent * numbers.length) / 100)) - 1] ?? null
  const verifiedIs = (value: boolean | null) => rows.filter(({ verified }) => verified === value).length
  const statusOf = (id: string) => of.Account.find((account) => account.id === id)?.status ?? null
  return {
    count: rows.length,
    platforms: countBy(rows, ({ platform }) => [platform]).slice(0, first),
    countries: countBy(rows, ({ country }) => [beginning(country)]).slice(0, first),
    categories: countBy(rows, ({ category }) => [beginning(category)]).slice(0, first),
    verified: { verified: verifiedIs(true), unverified: verifiedIs(false), unknown: verifiedIs(null) },
    statuses: asStatuses(countBy(rows, ({ accountId }) => [statusOf(accountId)])),
    followers: {
      count: numbers.length,
      sum: Number(sum),
      average: numbers.length === 0 ? null : expect.closeTo(Number(sum) / numbers.length, 0),
      min: numbers.at(0) ?? null,
      max: numbers.at(-1) ?? null,
      ...Object.fromEntries([10, 25, 50, 75, 90, 99].map((percent) => [`p${percent}`, percentile(percent)])),
    },
  }
}

const references = { User: userStats, Profile: profileStats }

describe.each(['User', 'Profile'] as const)('statistics of the type %s', (kind) => {
  it('equal those that JavaScript computes, for random filters, with a key and with the token of a user', async () => {
    await fc.assert(
      fc.asyncProperty(filters[kind], fc.integer({ min: 0, max: 4 }), async (filter, first) => {
        fc.pre(sizeOf(filter) <= 20)
        for (const [viewer, visible] of [[tenant, people] as const, [user, ofUser(people, 'usr_1')] as const]) {
          const statements = await app.statementsOf(async () => {
            const { data, errors } = await app.graphql<{ stats: object }>(viewer, queries[kind], { filter, first })
            expect(errors).toBeUndefined()
            expect(data.stats).toEqual(references[kind](filter, visible, first))
          })
          expect(statements).toHaveLength(1)
          const [sql = ''] = statements
          const tables = sql.match(/FROM "/g)?.length ?? 0
          expect(sql.match(/"tenant_app_id" = \$1/g)).toHaveLength(tables)
          if (viewer === user) {
            expect(sql.match(/"tenant_app_id" = \$1 AND "\w+" = (\$2|ANY \(ARRAY\()/g)).toHaveLength(tables)
          }
        }
      }),
      { numRuns: runs(80, 6) },
    )
  })

  it('of all rows equal those of an empty filter, and have the largest 20 groups', async () => {
    const all = await app.graphql(tenant, queries[kind])
    expect(all.data).toEqual({ stats: references[kind]({}, people, 20) })
    expect((await app.graphql(tenant, queries[kind], { filter: {} })).data).toEqual(all.data)
  })
})

describe('statistics', () => {
  it('are one statement for each selection of them, and read only what is selected', async () => {
    const query = `{ a: userStats { count } b: userStats(filter: { hasAccounts: true }) { count statuses { count } }
      profileStats { countries(first: 2) { count } again: countries(first: 2) { value } more: countries(first: 3) { value } } }`
    for (const _time of [1, 2, 3]) {
      const statements = await app.statementsOf(() => app.graphql(tenant, query))
      expect(statements).toHaveLength(3)
      const naming = (text: string) => statements.filter((sql) => sql.includes(text))
      expect(naming('"account"')).toHaveLength(1)
      expect(naming('percentile')).toHaveLength(0)
      // The groups of another number are others, and a part under two names is read once.
      expect(naming('left("country"')[0]?.split('left("country"')).toHaveLength(3)
    }
  })

  it('cost 50 points for each field, one for each group, and 50 for a filter that searches', async () => {
    const costOf = async (query: string) =>
      (await app.rest(tenant, 'POST', '/graphql', { query })).headers['x-cost-requested']
    expect(await costOf('{ userStats { count } }')).toBe('50')
    expect(await costOf('{ userStats { platforms { count } } }')).toBe('70')
    expect(await costOf('{ userStats(filter: { hasAccounts: true }) { count platforms(first: 100) { count } } }')).toBe(
      '250',
    )
    expect(await costOf('{ profileStats { verified { verified } statuses { count } followers { sum p50 } } }')).toBe(
      '150',
    )
  })

  it('are rejected with more than 100 groups', async () => {
    const { errors } = await app.graphql(tenant, '{ userStats { platforms(first: 101) { count } } }')
    expect(errors?.[0]?.message).toBe('Invalid input: first must be from 0 to 100.')
  })

  it.each([
    ['{ userStats { count } }', ['profiles:read'], ['userStats']],
    ['{ profileStats { count } }', ['users:read'], ['profileStats']],
    ['{ profileStats { count statuses { count } } }', ['profiles:read'], ['profileStats', 'statuses']],
    ['{ userStats(filter: { email: "a" }) { count } }', ['users:read'], ['userStats']],
  ] as const)('need the scopes of what they count: %s with %s', async (query, scopes, path) => {
    const granted = [...scopes] as Scope[]
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'few', scopes: granted })
    const { errors } = await app.graphql({ ...tenant, key }, query)
    expect(errors).toMatchObject([{ path, extensions: { code: 'FORBIDDEN' } }])
  })
})

describe('an estimate', () => {
  const estimateOf = async (list: string, filter: object, by = tenant) => {
    const type = { users: 'User', accounts: 'Account', searchProfiles: 'Profile' }[list]
    const query = `query ($filter: ${type}Filter) { ${list}(first: 0, filter: $filter) { totalCountEstimate } }`
    const { data, errors } = await app.graphql<Record<string, { totalCountEstimate: number | null }>>(by, query, {
      filter,
    })
    expect(errors).toBeUndefined()
    return data[list]?.totalCountEstimate
  }

  it('is near the number of rows when the database has statistics, and costs little', async () => {
    const { tenantAppId } = await app.createTenant()
    const many = { ...tenant, tenantAppId, key: (await createKey(app.database, { tenantAppId, name: 'k' })).key }
    await app.database.prisma.user.createMany({
      data: Array.from({ length: 600 }, (_, number) => ({
        tenantAppId,
        id: `usr_${number}`,
        name: 'n',
        email: `${number}`,
        phone: number % 4 === 0 ? '1' : null,
        createdAt: new Date(number * 1_000),
      })),
    })
    await app.database.runAsOwner('ANALYZE "user"')
    for (const [filter, count] of [
      [{}, 600],
      [{ createdBefore: new Date(150_000) }, 150],
      [{ phoneIsNull: false }, 150],
      [{ not: { createdBefore: new Date(150_000) } }, 450],
    ] as const) {
      const estimate = (await estimateOf('users', filter, many)) ?? 0
      expect(estimate).toBeGreaterThan(count / 2)
      expect(estimate).toBeLessThan(count * 2)
    }
    const statements = await app.statementsOf(() => estimateOf('users', {}, many))
    expect(statements.filter((sql) => sql.startsWith('EXPLAIN'))).toHaveLength(1)
    // Rows of others do not change it.
    const { tenantAppId: few } = await app.createTenant()
    const own = {
      ...tenant,
      tenantAppId: few,
      key: (await createKey(app.database, { tenantAppId: few, name: 'k' })).key,
    }
    await app.database.prisma.user.createMany({
      data: ['a', 'b', 'c'].map((id) => ({ tenantAppId: few, id, name: id, email: '', phone: '' })),
    })
    expect(await estimateOf('users', {}, own)).toBe(3)
    expect(await estimateOf('users', { createdBefore: new Date(150_000) }, own)).toBeLessThanOrEqual(3)
    const query = '{ users(first: 1) { totalCountEstimate } }'
    expect((await app.rest(many, 'POST', '/graphql', { query })).headers['x-cost-requested']).toBe('5')
  })

  it.each([
    ['users', { nameContains: 'a' }],
    ['users', { not: { platform: 'X' } }],
    ['users', { ids: ['usr_1'] }],
    ['users', { or: [{ phoneIsNull: true }, { account: { profile: { country: 'DE' } } }] }],
    ['accounts', { userId: 'usr_1' }],
    ['searchProfiles', { categories: ['Music'] }],
  ])('is null if it would tell which texts other tenants have: %s of %o', async (list, filter) => {
    const statements = await app.statementsOf(async () => expect(await estimateOf(list, filter)).toBeNull())
    expect(statements.some((sql) => sql.startsWith('EXPLAIN'))).toBe(false)
  })

  it.each([
    ['accounts', { status: 'EXPIRED' }],
    ['accounts', { profile: { verified: true } }],
    ['searchProfiles', { followersMin: 5, countryIsNull: true }],
  ])('is a number for other conditions: %s of %o', async (list, filter) => {
    // Citus cannot explain a statement with an enum.
    const estimate = isDistributed && 'status' in filter ? null : expect.any(Number)
    expect(await estimateOf(list, filter)).toEqual(estimate)
    expect(await estimateOf(list, filter, user)).toEqual(estimate)
  })
})
