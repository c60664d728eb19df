import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
/** A key without contacts:read. */
let few: TestTenant

const day = (number: number) => new Date(Date.UTC(2026, 0, number))

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { tenantAppId } = tenant
  const { key } = await createKey(app.database, { tenantAppId, name: 'few', scopes: ['users:read', 'profiles:read'] })
  few = { ...tenant, key }
  const create = factoriesFor(app, tenant)
  const people = [
    {
      name: 'Zoë',
      email: 'zoe@example.com',
      platforms: ['YOUTUBE'],
      followersCount: 5n,
      country: 'DE',
      verified: true,
    },
    { name: 'ada', email: 'ada@100%.example', platforms: ['X', 'YOUTUBE'], followersCount: null, country: 'FR' },
    { name: 'Ada', email: 'other@example.com', platforms: ['X'], followersCount: 0n, category: 'Music' },
    { name: 'Bob_1', email: 'bob@example.com', platforms: [], followersCount: 7n },
  ] as const
  for (const [index, { name, email, platforms, followersCount, ...profile }] of people.entries()) {
    const id = `usr_${index + 1}`
    const times = { createdAt: day(index + 1), updatedAt: day(10 - index) }
    await create.user({ id, name, email, ...times })
    for (const platform of platforms) {
      const account = await create.account(id, {
        id: `acc_${index + 1}_${platform}`,
        platform,
        platformAccountId: `${platform.toLowerCase()}-${id}`,
        displayName: `@${name}`,
        status: index === 0 ? 'EXPIRED' : 'CONNECTED',
        ...times,
      })
      await create.profile(account, {
        id: `prf_${index + 1}_${platform}`,
        username: name,
        followersCount,
        ...profile,
        ...times,
      })
    }
  }
})
afterAll(() => app.close())

interface Connection {
  readonly totalCount: number
  readonly nodes: readonly { readonly id: string }[]
  readonly edges: readonly { readonly cursor: string }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly endCursor: string | null
  }
}

const types: Record<string, string> = { users: 'User', accounts: 'Account', searchProfiles: 'Profile' }

async function read(list: string, variables: object, by = tenant) {
  const type = types[list]
  const query = `query ($first: Int, $last: Int, $after: String, $before: String, $filter: ${type}Filter, $orderBy: ${type}Order) {
    list: ${list}(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy) {
      totalCount nodes { id } edges { cursor } pageInfo { hasNextPage hasPreviousPage endCursor } } }`
  return app.graphql<{ list: Connection }>(by, query, variables as Record<string, unknown>)
}

async function idsOf(list: string, variables: object, by = tenant): Promise<string[]> {
  const { data, errors } = await read(list, variables, by)
  expect(errors).toBeUndefined()
  const ids = data.list.nodes.map(({ id }) => id)
  if (!('first' in variables || 'last' in variables)) expect(data.list.totalCount).toBe(ids.length)
  return ids
}

const orders: [string, string, readonly string[]][] = [
  ['users', 'CREATED_AT', ['usr_1', 'usr_2', 'usr_3', 'usr_4']],
  ['users', 'UPDATED_AT', ['usr_4', 'usr_3', 'usr_2', 'usr_1']],
  ['accounts', 'CREATED_AT', ['acc_1_YOUTUBE', 'acc_2_X', 'acc_2_YOUTUBE', 'acc_3_X']],
  ['accounts', 'UPDATED_AT', ['acc_3_X', 'acc_2_X', 'acc_2_YOUTUBE', 'acc_1_YOUTUBE']],
  ['searchProfiles', 'UPDATED_AT', ['prf_3_X', 'prf_2_X', 'prf_2_YOUTUBE', 'prf_1_YOUTUBE']],
]

describe('the order', () => {
  it.each(orders)('of %s by %s follows the value, then the id, in both directions', async (list, field, ids) => {
    expect(await idsOf(list, { orderBy: { field, direction: 'ASC' } })).toEqual(ids)
    expect(await idsOf(list, { orderBy: { field, direction: 'DESC' } })).toEqual(ids.toReversed())
  })

  it('of profiles by followers has those without a number last, in both directions', async () => {
    const by = (direction: string) => idsOf('searchProfiles', { orderBy: { field: 'FOLLOWERS_COUNT', direction } })
    expect(await by('ASC')).toEqual(['prf_3_X', 'prf_1_YOUTUBE', 'prf_2_X', 'prf_2_YOUTUBE'])
    expect(await by('DESC')).toEqual(['prf_1_YOUTUBE', 'prf_3_X', 'prf_2_YOUTUBE', 'prf_2_X'])
    expect(await idsOf('searchProfiles', {})).toEqual(await by('DESC'))
  })

  it.each([
    ...Object.entries({
      users: ['NAME', 'UPDATED_AT'],
      accounts: ['UPDATED_AT'],
      searchProfiles: ['FOLLOWERS_COUNT', 'UPDATED_AT'],
    }),
  ])('of %s is the same page by page, forwards and backwards', async (list, fields) => {
    for (const orderBy of fields.flatMap((field) => ['ASC', 'DESC'].map((direction) => ({ field, direction })))) {
      const whole = await idsOf(list, { orderBy })
      const forwards: string[] = []
      for (let after: string | null = null, more = true; more; ) {
        const page: Connection = (await read(list, { orderBy, first: 1, after })).data.list
        forwards.push(...page.nodes.map(({ id }) => id))
        after = page.pageInfo.endCursor
        more = page.pageInfo.hasNextPage
      }
      const backwards: string[] = []
      for (let before: string | undefined, more = true; more; ) {
        const page: Connection = (await read(list, { orderBy, last: 1, before })).data.list
        backwards.unshift(...page.nodes.map(({ id }) => id))
        before = page.edges[0]?.cursor
        more = page.pageInfo.hasPreviousPage
      }
      expect([forwards, backwards]).toEqual([whole, whole])
    }
  })

  it.each([
    ['a cursor of another order', 'CREATED_AT', 'NAME'],
    ['a cursor of the default order', 'NAME', 'CREATED_AT'],
  ])('rejects %s', async (_, from, to) => {
    const { data } = await read('users', { orderBy: { field: from, direction: 'ASC' } })
    const after = data.list.edges[0]?.cursor
    const { errors } = await read('users', { orderBy: { field: to, direction: 'ASC' }, after })
    expect(errors?.[0]).toMatchObject({
      message: expect.stringContaining('after is a cursor of users in another order'),
    })
  })

  it.each([
    '["name","x"]',
    '["name",5,"usr_1"]',
    '["users","name",5,"usr_1"]',
    '["accounts","name","x","usr_1"]',
    '["users","name","x","usr_1","y"]',
    '[]',
    '{}',
    '["name","\\u0000","usr_1"]',
  ])('rejects the cursor %s', async (text) => {
    const after = Buffer.from(text).toString('base64url')
    const { errors } = await read('users', { orderBy: { field: 'NAME', direction: 'ASC' }, after })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })
})

describe('the filter', () => {
  it.each([
    ['users', { search: 'ADA' }, ['usr_2', 'usr_3']],
    ['users', { search: 'bob@' }, ['usr_4']],
    ['users', { search: '100%' }, ['usr_2']],
    ['users', { search: 'b_' }, ['usr_4']],
    ['users', { search: 'zoë' }, ['usr_1']],
    ['users', { search: '' }, ['usr_1', 'usr_2', 'usr_3', 'usr_4']],
    ['users', { nameContains: '%' }, []],
    ['users', { nameContains: 'bob@' }, []],
    ['users', { platform: 'X' }, ['usr_2', 'usr_3']],
    ['users', { platform: 'YOUTUBE', search: 'ada' }, ['usr_2']],
    ['users', { email: 'bob@example.com' }, ['usr_4']],
    ['users', { updatedAfter: day(8) }, ['usr_1', 'usr_2']],
    ['users', { updatedBefore: day(8) }, ['usr_4']],
    ['users', { search: null, platform: null, updatedAfter: null }, ['usr_1', 'usr_2', 'usr_3', 'usr_4']],
    ['accounts', { platform: 'X' }, ['acc_2_X', 'acc_3_X']],
    ['accounts', { userId: 'usr_2' }, ['acc_2_X', 'acc_2_YOUTUBE']],
    ['accounts', { userId: 'nobody' }, []],
    ['accounts', { status: 'EXPIRED' }, ['acc_1_YOUTUBE']],
    ['accounts', { search: '@AD' }, ['acc_2_X', 'acc_2_YOUTUBE', 'acc_3_X']],
    ['accounts', { search: 'x-usr_3' }, ['acc_3_X']],
    ['accounts', { updatedAfter: day(9) }, ['acc_1_YOUTUBE']],
    ['searchProfiles', { platform: 'YOUTUBE' }, ['prf_1_YOUTUBE', 'prf_2_YOUTUBE']],
    ['searchProfiles', { country: 'DE' }, ['prf_1_YOUTUBE']],
    ['searchProfiles', { category: 'Music' }, ['prf_3_X']],
    ['searchProfiles', { verified: true }, ['prf_1_YOUTUBE']],
    ['searchProfiles', { verified: false }, []],
    ['searchProfiles', { search: 'ADA' }, ['prf_3_X', 'prf_2_YOUTUBE', 'prf_2_X']],
    ['searchProfiles', { followersMin: 1 }, ['prf_1_YOUTUBE']],
    ['searchProfiles', { followersMin: 0 }, ['prf_1_YOUTUBE', 'prf_3_X']],
    ['searchProfiles', { followersMax: 4 }, ['prf_3_X']],
    ['searchProfiles', { followersMin: 0, followersMax: 9 }, ['prf_1_YOUTUBE', 'prf_3_X']],
    ['searchProfiles', { updatedAfter: day(9) }, ['prf_1_YOUTUBE']],
  ])('%s %j', async (list, filter, ids) => expect(await idsOf(list, { filter })).toEqual(ids))

  it('search looks at email addresses only with contacts:read', async () => {
    expect(await idsOf('users', { filter: { search: 'bob@' } }, few)).toEqual([])
    expect(await idsOf('users', { filter: { search: 'bob' } }, few)).toEqual(['usr_4'])
  })

  it.each([
    ['users', { search: '\0' }, 'search'],
    ['users', { platform: 'x'.repeat(501) }, 'platform'],
    ['accounts', { search: 'x'.repeat(501) }, 'search'],
    ['accounts', { userId: '\0' }, 'userId'],
    ['searchProfiles', { followersMin: -1 }, 'followersMin'],
    ['searchProfiles', { country: '\0' }, 'country'],
  ])('%s %j is rejected', async (list, filter, field) => {
    const { errors } = await read(list, { filter })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', fields: [{ field: `filter.${field}` }] })
  })

  it('costs 50 points more if it searches', async () => {
    const costOf = async (list: string, filter: object) => {
      const query = `query ($filter: ${types[list]}Filter) { ${list}(first: 2, filter: $filter) { nodes { id } } }`
      const payload = { query, variables: { filter } }
      const response = await app.app.inject({
        method: 'POST',
        url: '/graphql',
        headers: { 'x-api-key': tenant.key },
        payload,
      })
      return response.headers['x-cost-requested']
    }
    expect(await costOf('users', { search: 'a', platform: 'X' })).toBe('52')
    expect(await costOf('users', { email: 'a', updatedAfter: day(1) })).toBe('2')
    expect(await costOf('accounts', { userId: 'a' })).toBe('2')
    expect(await costOf('searchProfiles', { verified: false })).toBe('52')
  })
})

it('a list and what is below it is one statement, and its count another one', async () => {
  const statements = await app.statementsOf(() =>
    app.graphql(
      tenant,
      `{ accounts(filter: { search: "a" }) { totalCount nodes { user { name accounts { id } } profile { emails { value } } } } }`,
    ),
  )
  expect(statements).toHaveLength(2)
  const profiles = await app.statementsOf(() =>
    app.graphql(tenant, '{ searchProfiles { nodes { account { user { name } } emails { value } } } }'),
  )
  expect(profiles).toHaveLength(1)
})

describe('tenantStats', () => {
  it('counts what is requested', async () => {
    const query =
      '{ tenantStats { users accounts profiles accountsByPlatform { platform count } jobsByStatus { status count } } }'
    await factoriesFor(app, tenant).job({ status: 'FAILED' })
    expect((await app.graphql(tenant, query)).data).toEqual({
      tenantStats: {
        users: 4,
        accounts: 4,
        profiles: 4,
        accountsByPlatform: [
          { platform: 'X', count: 2 },
          { platform: 'YOUTUBE', count: 2 },
        ],
        jobsByStatus: [{ status: 'FAILED', count: 1 }],
      },
    })
    expect(await app.statementsOf(() => app.graphql(tenant, '{ tenantStats { users } }'))).toHaveLength(1)
  })

  it('has no jobs without jobs:read, and the rest', async () => {
    const { data, errors } = await app.graphql(few, '{ tenantStats { users jobsByStatus { count } } }')
    expect(data).toEqual({ tenantStats: { users: 4, jobsByStatus: null } })
    expect(errors).toMatchObject([{ path: ['tenantStats', 'jobsByStatus'], extensions: { code: 'FORBIDDEN' } }])
  })
})

describe('an account', () => {
  it('has a state, which linkAccount and updateAccount set', async () => {
    const link = (
      id: string,
      more: string,
    ) => `mutation { linkAccount(input: { userId: "usr_4", platform: "Z", platformAccountId: "${id}",
      displayName: "z" ${more} }) { account { id status createdAt updatedAt } userErrors { code } } }`
    const first = await app.graphql<{ linkAccount: { account: { id: string } } }>(tenant, link('1', ''))
    expect(first.data).toMatchObject({
      linkAccount: { account: { status: 'CONNECTED', createdAt: expect.any(String) } },
    })
    expect((await app.graphql(tenant, link('2', 'status: EXPIRED'))).data).toMatchObject({
      linkAccount: { account: { status: 'EXPIRED' } },
    })
    const { id } = first.data.linkAccount.account
    const update = async (change: string) =>
      (
        await app.graphql(
          tenant,
          `mutation { updateAccount(input: { id: "${id}" ${change} }) { account { displayName status } } }`,
        )
      ).data
    expect(await update('status: DISCONNECTED')).toEqual({
      updateAccount: { account: { displayName: 'z', status: 'DISCONNECTED' } },
    })
    expect(await update('displayName: "y"')).toEqual({
      updateAccount: { account: { displayName: 'y', status: 'DISCONNECTED' } },
    })
    await app.database.prisma.account.deleteMany({ where: { platform: 'Z' } })
  })
})

describe('a profile', () => {
  const sync = async (input: string) => {
    const query = `mutation { syncProfile(input: { accountId: "acc_3_X" ${input} }) {
      profile { syncedAt updatedAt unsupportedFields } userErrors { code field } } }`
    return (await app.graphql<{ syncProfile: { profile: { syncedAt: string }; userErrors: unknown } }>(tenant, query))
      .data.syncProfile
  }

  it('names the fields that the platform does not provide', async () => {
    expect((await sync('unsupportedFields: ["gender", "watchTimeInHours", "gender"]')).profile).toMatchObject({
      unsupportedFields: ['gender', 'watchTimeInHours'],
    })
    expect((await sync('')).profile).toMatchObject({ unsupportedFields: ['gender', 'watchTimeInHours'] })
    expect((await sync('unsupportedFields: []')).profile).toMatchObject({ unsupportedFields: [] })
    expect((await sync('unsupportedFields: ["id"]')).userErrors).toEqual([
      { code: 'INVALID_FORMAT', field: ['unsupportedFields', '0'] },
    ])
  })

  it('tells when it was synchronized: before the first synchronization that is recorded, when it changed', async () => {
    const query = '{ node(id: "prf_1_YOUTUBE") { ... on Profile { syncedAt } } }'
    expect((await app.graphql(tenant, query)).data).toEqual({ node: { syncedAt: day(10).toISOString() } })
    const before = Date.now()
    const { profile } = await sync('')
    expect(Date.parse(profile.syncedAt)).toBeGreaterThanOrEqual(before)
    const nodes = '{ searchProfiles(filter: { search: "Ada", platform: "X" }) { nodes { syncedAt } } }'
    expect(JSON.stringify((await app.graphql(tenant, nodes)).data)).toContain(profile.syncedAt)
  })
})

it('a user names its tenant', async () => {
  const { data } = await app.graphql(tenant, '{ user(id: "usr_1") { tenantApp { id name } } }')
  expect(data).toEqual({ user: { tenantApp: { id: tenant.tenantAppId, name: tenant.name } } })
})
