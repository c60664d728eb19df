import type { Scope } from '@fusion-gateway/base'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { AccountFilter } from '../../src/domain/account/account.graphql.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { scopes, userScopes } from '../../src/domain/scopes.ts'
import { type FilterOf, isSelected, type People } from '../differential/reference/people.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { createPeople, filters, sizeOf, storePeople } from './people.ts'

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
  const { tenantAppId } = tenant
  const emails = people.Profile.flatMap(({ id: profileId }) =>
    [1, 2, 3].map((number) => {
      const email = { id: `eml_${number}_${profileId}`, profileId, value: `${number}@example.com` }
      return { tenantAppId, ...email, createdAt: new Date(Date.UTC(2026, 0, 4 - number)) }
    }),
  )
  await app.database.prisma.emailRecord.createMany({ data: emails })
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId: 'usr_1', scopes: userScopes } },
  )
  user = { ...tenant, token: data.createAccessToken.accessToken }
})
afterAll(() => app.close())

type Account = People['Account'][number]
type Direction = 'ASC' | 'DESC'

interface Arguments {
  readonly first?: number | null
  readonly filter?: FilterOf<'Account'> | null
  readonly orderBy?: { readonly field: 'CREATED_AT' | 'UPDATED_AT'; readonly direction: Direction } | null
}

const fields = { CREATED_AT: 'createdAt', UPDATED_AT: 'updatedAt' } as const

/** Ids as PostgreSQL compares them in the collation of the tests: those of accounts differ in their numbers. */
const compareIds = new Map<string, number>()
const placeOf = (id: string) => compareIds.get(id) ?? Number.NaN

beforeAll(async () => {
  const rows = await app.database.prisma.$queryRawUnsafe<{ id: string }[]>(
    'SELECT id FROM account WHERE tenant_app_id = $1 ORDER BY id',
    tenant.tenantAppId,
  )
  for (const [place, { id }] of rows.entries()) compareIds.set(id, place)
})

/** What arguments mean, in JavaScript. */
function accountsOf(userId: string, { first, filter, orderBy }: Arguments): Account[] {
  const { field, direction } = orderBy ?? { field: 'CREATED_AT', direction: 'ASC' }
  const sign = direction === 'ASC' ? 1 : -1
  const keyOf = (row: Account) => row[fields[field]].getTime()
  const rows = people.Account.filter(
    (row) => row.userId === userId && (filter == null || isSelected(people, 'Account', row, filter)),
  )
  const sorted = rows.toSorted(
    (one, other) => sign * (keyOf(one) - keyOf(other) || placeOf(one.id) - placeOf(other.id)),
  )
  return sorted.slice(0, first ?? sorted.length)
}

const orders = fc.option(
  fc.record({
    field: fc.constantFrom('CREATED_AT' as const, 'UPDATED_AT' as const),
    direction: fc.constantFrom('ASC' as const, 'DESC' as const),
  }),
)

const givenArguments: fc.Arbitrary<Arguments> = fc.record(
  {
    first: fc.option(fc.constantFrom(0, 1, 2, 3, 20)),
    filter: fc.option(filters.Account.filter((filter) => sizeOf(filter) <= 20)),
    orderBy: orders,
  },
  { requiredKeys: [] },
)

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

/** The filters of people have times, which are sent as texts. */
const texts = (variables: object) => JSON.parse(JSON.stringify(variables)) as Record<string, unknown>

describe('User.accounts with arguments', () => {
  type Nodes = Record<'a' | 'b' | 'all', { id: string }[]> & { readonly id: string }

  it('returns what the same predicate, order and number select in JavaScript, under two aliases, in one statement', async () => {
    const query = `query ($a: Int, $af: AccountFilter, $ao: AccountOrder, $b: Int, $bf: AccountFilter, $bo: AccountOrder) {
      users { nodes { id
        a: accounts(first: $a, filter: $af, orderBy: $ao) { id user { id } }
        b: accounts(orderBy: $bo, filter: $bf, first: $b) { id profile { id } }
        all: accounts { id } } } }`
    let narrowed = 0
    await fc.assert(
      fc.asyncProperty(givenArguments, givenArguments, async (a, b) => {
        const variables = texts({ a: a.first, af: a.filter, ao: a.orderBy, b: b.first, bf: b.filter, bo: b.orderBy })
        for (const viewer of [tenant, user]) {
          const statements = await app.statementsOf(async () => {
            const { data, errors } = await app.graphql<{ users: { nodes: Nodes[] } }>(viewer, query, variables)
            expect(errors).toBeUndefined()
            expect(data.users.nodes).toHaveLength(viewer === user ? 1 : 12)
            for (const { id, ...lists } of data.users.nodes) {
              expect(idsOf(lists.all)).toEqual(idsOf(accountsOf(id, {})))
              expect(idsOf(lists.a)).toEqual(idsOf(accountsOf(id, a)))
              expect(idsOf(lists.b)).toEqual(idsOf(accountsOf(id, b)))
              if (lists.a.length < lists.all.length) narrowed += 1
            }
          })
          expect(statements).toHaveLength(1)
          const tables = statements[0]?.match(/FROM "(?=\w+" WHERE)/g)?.length
          expect(statements[0]?.match(/"tenant_app_id" = \$1/g)).toHaveLength(tables ?? 0)
        }
      }),
      { numRuns: runs(60, 5) },
    )
    expect(narrowed).toBeGreaterThan(0)
  })

  it('without arguments, or with null, sends the statement of the plain list', async () => {
    const statementOf = async (args: string) => {
      const query = `query ($none: AccountFilter) { users(first: 3) { nodes { accounts${args} { id } } } accounts(filter: $none) { nodes { id } } }`
      const statements = await app.statementsOf(() => app.graphql(tenant, query))
      return statements.toSorted()
    }
    const plain = await statementOf('')
    expect(plain).toHaveLength(2)
    expect(plain.join()).not.toContain('LATERAL')
    for (const args of [
      '(first: null, orderBy: null)',
      '(filter: $none)',
      '(orderBy: { field: CREATED_AT, direction: ASC })',
    ]) {
      expect(await statementOf(args)).toEqual(plain)
    }
  })

  it('reads relations below each list, back to the user, and lists within lists', async () => {
    const query = `{ users { nodes { id
      one: accounts(first: 1) { id user { id accounts(first: 2) { id } } }
      last: accounts(first: 1, orderBy: { field: CREATED_AT, direction: DESC }) { id profile { id account { id } } } } } }`
    interface Node {
      readonly id: string
      readonly one: readonly { id: string; user: { id: string; accounts: { id: string }[] } }[]
      readonly last: readonly { id: string; profile: { account: { id: string } } | null }[]
    }
    const statements = await app.statementsOf(async () => {
      const { data, errors } = await app.graphql<{ users: { nodes: Node[] } }>(tenant, query)
      expect(errors).toBeUndefined()
      for (const { id, one, last } of data.users.nodes) {
        expect(idsOf(one)).toEqual(idsOf(accountsOf(id, { first: 1 })))
        for (const account of one) {
          expect(account.user).toEqual({
            id,
            accounts: accountsOf(id, { first: 2 }).map((row) => ({ id: row.id })),
          })
        }
        expect(idsOf(last)).toEqual(idsOf(accountsOf(id, {}).slice(-1)))
        for (const account of last) if (account.profile) expect(account.profile.account.id).toBe(account.id)
      }
    })
    expect(statements).toHaveLength(1)
  })

  it('of one user, of a node, and of the payload of a mutation', async () => {
    const expected = accountsOf('usr_2', { first: 1, orderBy: { field: 'UPDATED_AT', direction: 'DESC' } })
    expect(expected).toHaveLength(1)
    const list = 'accounts(first: 1, orderBy: { field: UPDATED_AT, direction: DESC }) { id }'
    const queries = [
      [`{ user(id: "usr_2") { ${list} } }`, 1],
      [`{ user: node(id: "usr_2") { ... on User { ${list} } } }`, 1],
      [`mutation { user: updateUser(input: { id: "usr_2" }) { user { ${list} } } }`, undefined],
    ] as const
    for (const [query, count] of queries) {
      const statements = await app.statementsOf(async () => {
        const { data } = await app.graphql<{ user: { user?: object } }>(tenant, query)
        expect(data.user.user ?? data.user).toEqual({ accounts: expected.map(({ id }) => ({ id })) })
      })
      if (count !== undefined) expect(statements).toHaveLength(count)
    }
  })

  it('is read level by level if an operation has more than 24 relations, one statement for each list', async () => {
    const lists = Array.from({ length: 30 }, (_, index) => `a${index}: accounts(first: ${index}) { id }`)
    const statements = await app.statementsOf(async () => {
      const { data, errors } = await app.graphql<{ users: { nodes: Record<string, { id: string }[]>[] } }>(
        tenant,
        `{ users { nodes { key: accounts { user { id } } ${lists.join(' ')} } } }`,
      )
      expect(errors).toBeUndefined()
      for (const node of data.users.nodes) {
        const all = idsOf(node['a29'] ?? [])
        for (const index of [0, 1, 2]) expect(idsOf(node[`a${index}`] ?? [])).toEqual(all.slice(0, index))
      }
    })
    // The users, 30 lists, and the plain list with its users.
    expect(statements).toHaveLength(1 + 30 + 2)
  })
})

it.each([
  'accounts { id }',
  'accounts(first: 1) { id profile { id } }',
  'accounts(first: $first) { id }',
  'accountsConnection { nodes { id profile { id } } pageInfo { hasNextPage } }',
  'accountsConnection(first: $first) { edges { node { id } } }',
  'a: accounts(first: $first) { id } b: accountsConnection(last: $first) { nodes { id } }',
])('each request reads %s with the users, whether the values of its variables are new or not', async (selection) => {
  const definition = selection.includes('$') ? 'query ($first: Int)' : 'query'
  const query = `${definition} { users(first: 4) { nodes { ${selection} } } }`
  for (const first of [1, 2, null, 2, undefined, 1]) {
    const statements = await app.statementsOf(async () => {
      expect((await app.graphql(tenant, query, first === undefined ? {} : { first })).errors).toBeUndefined()
    })
    expect(statements).toHaveLength(1)
  }
})

describe('Profile.emails(first)', () => {
  it('returns the oldest addresses of each profile, in one statement', async () => {
    const query = `{ users { nodes { accounts { profile { id
      one: emails(first: 1) { id } two: emails(first: 2) { id } all: emails { id } none: emails(first: 0) { id } } } } } }`
    type Emails = Record<'one' | 'two' | 'all' | 'none', { id: string }[]> & { readonly id: string }
    const statements = await app.statementsOf(async () => {
      const { data, errors } = await app.graphql<{
        users: { nodes: { accounts: { profile: Emails | null }[] }[] }
      }>(tenant, query)
      expect(errors).toBeUndefined()
      const profiles = data.users.nodes.flatMap(({ accounts }) => accounts.flatMap(({ profile }) => profile ?? []))
      expect(profiles).toHaveLength(people.Profile.length)
      for (const { id, one, two, all, none } of profiles) {
        const expected = [3, 2, 1].map((number) => `eml_${number}_${id}`)
        expect([all, two, one, none].map(idsOf)).toEqual([expected, expected.slice(0, 2), expected.slice(0, 1), []])
      }
    })
    expect(statements).toHaveLength(1)
  })
})

describe('User.accountsConnection', () => {
  interface Connection {
    readonly totalCount: number
    readonly totalCountEstimate: number
    readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[]
    readonly pageInfo: {
      readonly hasNextPage: boolean
      readonly hasPreviousPage: boolean
      readonly startCursor: string | null
      readonly endCursor: string | null
    }
  }
  const query = `query ($first: Int, $last: Int, $after: String, $before: String, $filter: AccountFilter, $orderBy: AccountOrder) {
    users { nodes { id accountsConnection(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy) {
      totalCount totalCountEstimate edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }`

  async function read(variables: object) {
    type Node = { readonly id: string; readonly accountsConnection: Connection }
    const { data, errors } = await app.graphql<{ users: { nodes: Node[] } }>(tenant, query, texts(variables))
    expect(errors).toBeUndefined()
    return new Map(data.users.nodes.map(({ id, accountsConnection }) => [id, accountsConnection]))
  }

  it('is the list in pages, forwards and backwards, with statements that do not depend on the number of users', async () => {
    const pageArguments = fc.record({ filter: filters.Account.filter((one) => sizeOf(one) <= 20), orderBy: orders })
    await fc.assert(
      fc.asyncProperty(pageArguments, fc.constantFrom(1, 2), async (args, size) => {
        const pages = await read({ ...args, first: size })
        for (const [id, { totalCount, totalCountEstimate, edges, pageInfo }] of pages) {
          const all = idsOf(accountsOf(id, args))
          expect([totalCount, totalCountEstimate]).toEqual([all.length, all.length])
          expect(edges.map(({ node }) => node.id)).toEqual(all.slice(0, size))
          expect(pageInfo).toMatchObject({ hasNextPage: all.length > size, hasPreviousPage: false })
          if (pageInfo.endCursor === null) continue
          const statements = await app.statementsOf(async () => {
            const next = (await read({ ...args, first: size, after: pageInfo.endCursor })).get(id)
            expect(next?.edges.map(({ node }) => node.id)).toEqual(all.slice(size, 2 * size))
            expect(next?.pageInfo).toMatchObject({ hasNextPage: all.length > 2 * size, hasPreviousPage: true })
          })
          // The page, the counts of all users, and whether rows precede the cursor.
          expect(statements).toHaveLength(3)
          const before = edges.at(-1)?.cursor
          const previous = (await read({ ...args, last: size, before })).get(id)
          expect(previous?.edges.map(({ node }) => node.id)).toEqual(all.slice(0, edges.length - 1))
          expect(previous?.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
        }
      }),
      { numRuns: runs(8, 4) },
    )
  })

  it('has the cursors of `accounts`, and reads the relations below its nodes with the users', async () => {
    const statements = await app.statementsOf(async () => {
      const { data } = await app.graphql<{
        user: { accountsConnection: { edges: { cursor: string }[]; nodes: { id: string }[] } }
      }>(
        tenant,
        '{ user(id: "usr_1") { accountsConnection { edges { cursor } nodes { id profile { emails { id } } } } } }',
      )
      const { edges, nodes } = data.user.accountsConnection
      expect(nodes.length).toBeGreaterThan(0)
      const { data: all } = await app.graphql<{ accounts: { edges: { cursor: string; node: { id: string } }[] } }>(
        tenant,
        '{ accounts(first: 500) { edges { cursor node { id } } } }',
      )
      const cursors = new Map(all.accounts.edges.map(({ cursor, node }) => [node.id, cursor]))
      expect(edges.map(({ cursor }) => cursor)).toEqual(nodes.map(({ id }) => cursors.get(id)))
    })
    expect(statements).toHaveLength(1 + 1)
  })
})

const cursor = Buffer.from('["accounts","createdAt","1769846400000","acc_1"]').toString('base64url')

describe('a nested list costs', () => {
  const costOf = async (selection: string) => {
    const response = await app.rest(tenant, 'POST', '/graphql', {
      query: `query${selection.includes('$') ? ' ($first: Int)' : ''} { users(first: 2) { nodes { ${selection} } } }`,
      variables: { first: 7 },
    })
    expect(response.json().errors).toBeUndefined()
    return Number(response.headers['x-cost-requested']) / 2 - 1
  }

  it.each([
    ['accounts { id }', 5],
    ['accounts(first: null) { id }', 5],
    ['accounts(first: 3) { id }', 3],
    ['accounts(first: $first) { id }', 7],
    ['accounts(first: 0) { id }', 1],
    ['accounts(first: 3) { id user { id } }', 6],
    ['accounts(first: 3, orderBy: { field: UPDATED_AT, direction: ASC }) { id }', 3 + 5],
    ['accounts(filter: { platform: "X", statuses: [EXPIRED] }) { id }', 5 + 2 * 5],
    ['accounts(first: 3, filter: { or: [{ platform: "X" }, { user: { nameContains: "a" } }] }) { id }', 3 + 2 * 5],
    ['accounts(first: 3) { profile { emails { id } } }', 3 + 3 + 6],
    ['accounts(first: 3) { profile { emails(first: 4) { id } } }', 3 + 3 + 12],
    ['accountsConnection { nodes { id } }', 20],
    ['accountsConnection(first: 3) { totalCount nodes { id } }', 3 + 5],
    ['accountsConnection(first: 0) { pageInfo { hasNextPage } }', 1],
    [`accountsConnection(first: 0, after: "${cursor}") { pageInfo { hasPreviousPage } }`, 1 + 2 * 5],
    [`accountsConnection(last: 2, after: "${cursor}", before: "${cursor}") { nodes { id } }`, 2 + 4 * 5],
    ['accountsConnection(last: 3, filter: {}) { totalCount edges { node { profile { id } } } }', 6 + 5 + 5],
  ])('%s: %i points for each user', async (selection, points) => {
    expect(await costOf(selection)).toBe(points)
  })
})

describe('a nested list is rejected', () => {
  it('once for all rows, with an error for at most 2,000 of them, and costs as much as the most conditions', async () => {
    const other = await app.createTenant()
    const { tenantAppId } = other
    await app.database.prisma.user.createMany({
      data: Array.from({ length: 60 }, (_, index) => ({
        tenantAppId,
        id: `usr_${index}`,
        name: '',
        email: '',
        phone: '',
      })),
    })
    const read = vi.spyOn(AccountFilter, 'whereOf')
    const deep = { and: [{ and: [{ and: [{ and: [{ and: [{ platform: 'X' }] }] }] }] }] }
    // 2,400 lists, more than there are errors.
    const aliases = Array.from(
      { length: 40 },
      (_, index) => `a${index}: accountsConnection(first: 0, last: 0) { __typename }`,
    )
    const query = `query ($deep: AccountFilter) { users(first: 60) { nodes { ${aliases.join(' ')} } } user(id: "usr_1") { accounts(filter: $deep) { id } } }`
    // The second run is compiled.
    for (const _run of [1, 2, 3]) {
      const { headers, ...response } = await app.rest(other, 'POST', '/graphql', { query, variables: { deep } })
      const { data, errors } = response.json()
      expect(data).toEqual({ users: null, user: null })
      expect(errors.length).toBeLessThanOrEqual(2_000)
      expect(Number(headers['x-cost-requested'])).toBeGreaterThanOrEqual(60 * (1 + 40) + 1 + 5 + 20 * 5)
      expect(read.mock.calls.length).toBeLessThanOrEqual(2)
      read.mockClear()
    }
    read.mockRestore()
  })

  it('without counting more conditions than a filter may have, for each alias before the cost is known', async () => {
    const size = vi.spyOn(AccountFilter, 'sizeOf')
    const filter = { and: Array.from({ length: 19 }, () => ({ and: Array.from({ length: 300 }, () => ({})) })) }
    const aliases = Array.from({ length: 40 }, (_, index) => `a${index}: accounts(first: 0, filter: $filter) { id }`)
    const query = `query ($filter: AccountFilter) { user(id: "usr_1") { ${aliases.join(' ')} } }`
    const { errors } = await app.graphql(tenant, query, { filter })
    expect(errors?.[0]?.message).toBe('Invalid input: filter must have at most 20 conditions.')
    expect(size.mock.calls.length).toBeLessThan(40 * 100)
    size.mockRestore()
  })

  const many = JSON.stringify({ or: Array.from({ length: 21 }, () => ({ platform: 'X' })) }).replace(/"(\w+)":/g, '$1:')
  it.each([
    ['accounts(first: 501) { id }', 'Invalid input: first must be from 0 to 500.'],
    ['accounts(first: -1) { id }', 'Invalid input: first must be from 0 to 500.'],
    [`accounts(filter: ${many}) { id }`, 'Invalid input: filter must have at most 20 conditions.'],
    [
      'accountsConnection(first: 1, last: 1) { totalCount }',
      'Invalid input: last cannot be given together with first.',
    ],
    ['accountsConnection(after: "x") { totalCount }', 'Invalid input: after is not a cursor of accounts.'],
  ])('%s', async (selection, message) => {
    // More than once, because the second run of an operation is compiled.
    for (let time = 0; time < 3; time += 1) {
      const { errors } = await app.graphql(tenant, `{ user(id: "usr_1") { ${selection} } }`)
      expect(errors).toMatchObject([
        { message, extensions: { code: 'BAD_USER_INPUT' }, path: ['user', expect.any(String)] },
      ])
    }
  })

  it.each<[Scope, string]>([
    ['profiles:read', '{ hasProfile: true }'],
    ['profiles:read', '{ not: { profile: { country: "DE" } } }'],
    ['contacts:read', '{ user: { email: "a" } }'],
  ])('without the scope %s for the filter %s', async (scope, filter) => {
    const { tenantAppId } = tenant
    const granted = scopes.filter((one) => one !== scope)
    const { key } = await createKey(app.database, { tenantAppId, name: filter, scopes: granted })
    for (const field of ['accounts', 'accountsConnection']) {
      const query = `{ user(id: "usr_1") { name ${field}(filter: ${filter}) { __typename } } }`
      for (let time = 0; time < 3; time += 1) {
        const statements = await app.statementsOf(async () => {
          const { errors } = await app.graphql({ ...tenant, key }, query)
          expect(errors).toMatchObject([{ message: `This needs the scope ${scope}.`, path: ['user', field] }])
        })
        for (const text of statements) expect(text).not.toContain('account')
      }
    }
  })
})

describe('a tree waits for other searches of the tenant, or not, with a nested list', () => {
  it.each([
    ['accounts(first: 2)', 0],
    ['accounts(filter: { platform: "X", status: EXPIRED })', 0],
    ['accounts(filter: { search: "a" })', 1],
    ['accounts(filter: { not: { platform: "X" } })', 1],
    ['accountsConnection(filter: { profile: { country: "DE" } })', 1],
  ])('%s: %i', async (field, times) => {
    const run = vi.spyOn(app.services.queues.searches, 'run')
    await app.graphql(tenant, `{ users(first: 2) { nodes { ${field} { __typename } } } }`)
    await app.graphql(tenant, `{ user(id: "usr_1") { ${field} { __typename } } }`)
    expect(run).toHaveBeenCalledTimes(2 * times)
    run.mockRestore()
  })
})
