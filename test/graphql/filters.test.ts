import type { Scope } from '@fusion-gateway/base'
import { metadataOf } from '@fusion-gateway/pothos-trees'
import fc from 'fast-check'
import { isInputObjectType, isLeafType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { scopes, userScopes } from '../../src/domain/scopes.ts'
import { type FilterOf, isSelected, type Kind, type People } from '../differential/reference/people.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
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
  // Two tenants have rows of the same ids with other values.
  const others = createPeople(7)
  people = createPeople(1)
  await storePeople(app, await app.createTenant(), others)
  await storePeople(app, tenant, people)
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId: 'usr_1', scopes: userScopes } },
  )
  user = { ...tenant, token: data.createAccessToken.accessToken }
})
afterAll(() => app.close())

const lists: Record<Kind, string> = { User: 'users', Account: 'accounts', Profile: 'searchProfiles' }

interface Connection {
  readonly totalCount: number
  readonly nodes: readonly { readonly id: string }[]
  readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean }
}

const selected = '{ totalCount nodes { id } pageInfo { endCursor hasNextPage } }'

function read(kind: Kind, filter: object, by = tenant, page: object = {}) {
  const query = `query ($filter: ${kind}Filter, $first: Int = 500, $after: String) {
    list: ${lists[kind]}(first: $first, after: $after, filter: $filter) ${selected} }`
  return app.graphql<{ list: Connection }>(by, query, { filter, ...page })
}

async function idsOf(kind: Kind, filter: object, by = tenant): Promise<string[]> {
  const { data, errors } = await read(kind, filter, by)
  expect(errors).toBeUndefined()
  const ids = data.list.nodes.map(({ id }) => id).toSorted()
  expect(data.list.totalCount).toBe(ids.length)
  return ids
}

/** The ids of the rows that a filter selects by JavaScript. */
const expectedIds = (kind: Kind, filter: object, of: People) =>
  of[kind].flatMap((row) => (isSelected(of, kind, row, filter as FilterOf<Kind>) ? [row.id] : [])).toSorted()

const kinds: readonly Kind[] = ['User', 'Account', 'Profile']

/** How many of the random filters select all, some and no rows. About a sixth of them select all. */
const seen = { all: 0, some: 0, none: 0 }

describe.each(kinds)('a random filter of the type %s', (kind) => {
  it('selects the rows that the same predicate in JavaScript selects, with a key and with the token of a user', async () => {
    await fc.assert(
      fc.asyncProperty(filters[kind], async (filter) => {
        if (sizeOf(filter) > 20) {
          const { errors } = await read(kind, filter)
          expect(errors?.[0]?.message).toBe('Invalid input: filter must have at most 20 conditions.')
          return
        }
        for (const [viewer, visible] of [[tenant, people] as const, [user, ofUser(people, 'usr_1')] as const]) {
          const expected = expectedIds(kind, filter, visible)
          const statements = await app.statementsOf(async () => {
            expect(await idsOf(kind, filter, viewer)).toEqual(expected)
          })
          // The list and its count. Each table that they read is one of the tenant and, for a token, of the user.
          expect(statements).toHaveLength(2)
          for (const sql of statements) {
            const tables = sql.match(/FROM "/g)?.length
            expect(sql.match(/"tenant_app_id" = \$1/g)).toHaveLength(tables ?? 0)
            if (viewer === user) {
              const named = sql.match(/"tenant_app_id" = \$1 AND "\w+" = (\$2|ANY \(ARRAY\()/g)
              expect(named).toHaveLength(tables ?? 0)
            }
          }
          const isAll = expected.length === visible[kind].length
          if (viewer === tenant) seen[expected.length === 0 ? 'none' : isAll ? 'all' : 'some'] += 1
        }
      }),
      { numRuns: runs(150, 6) },
    )
  })

  it('selects the same as a literal with variables in it, page by page', async () => {
    const query = `query ($a: ${kind}Filter!, $b: ${kind}Filter!, $after: String) {
      list: ${lists[kind]}(first: 3, after: $after, filter: { or: [$a, { not: $b }] }) ${selected} }`
    await fc.assert(
      fc.asyncProperty(filters[kind], filters[kind], async (a, b) => {
        fc.pre(sizeOf({ or: [a, { not: b }] }) <= 20)
        const found: string[] = []
        const expected = expectedIds(kind, { or: [a, { not: b }] }, people)
        for (let after: string | null = null, more = true; more; ) {
          const { data, errors }: Awaited<ReturnType<typeof read>> = await app.graphql(tenant, query, { a, b, after })
          // The filters are one or two levels deeper here.
          if (errors) {
            expect(errors[0]?.message).toBe('Invalid input: filter must be nested at most 4 deep.')
            return
          }
          expect(data.list.totalCount).toBe(expected.length)
          found.push(...data.list.nodes.map(({ id }) => id))
          after = data.list.pageInfo.endCursor
          more = data.list.pageInfo.hasNextPage
        }
        expect(found.toSorted()).toEqual(expected)
      }),
      { numRuns: runs(40, 5) },
    )
  })
})

it('some random filters select all rows, some of them, and none', () => {
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
})

describe('a filter', () => {
  const all = { User: 12, Account: 24, Profile: 18 }

  it.each(kinds)('without conditions selects everything, and an empty list nothing: %s', async (kind) => {
    for (const filter of [{}, { and: [] }, { and: [{}, {}] }, { or: [{}] }, { or: null, not: null, ids: null }]) {
      expect(await idsOf(kind, filter)).toHaveLength(all[kind])
    }
    for (const filter of [{ or: [] }, { ids: [] }, { platforms: [] }, { not: {} }, { and: [{ or: [] }] }]) {
      expect(await idsOf(kind, filter)).toEqual([])
    }
    expect(await idsOf(kind, { not: { or: [] } })).toHaveLength(all[kind])
  })

  it('with a single filter for a list is read as a list of one', async () => {
    expect(await idsOf('User', { or: { ids: 'usr_1' }, and: { ids: ['usr_1', 'usr_2'] } })).toEqual(['usr_1'])
  })

  it('that negates a condition on an unknown value selects the row', async () => {
    const unknown = people.Profile.filter(({ country }) => country === null)
    expect(unknown.length).toBeGreaterThan(0)
    const ids = await idsOf('Profile', { not: { country: 'DE' } })
    expect(ids).toEqual(expect.arrayContaining(unknown.map(({ id }) => id)))
    expect(await idsOf('Profile', { not: { not: { country: 'DE' } } })).toEqual(
      await idsOf('Profile', { country: 'DE' }),
    )
  })

  it('costs 50 points more if it searches, negates, has alternatives or looks at related rows', async () => {
    const costOf = async (filter: object, text = '$filter') => {
      const query = `query ($filter: UserFilter!) { users(first: 2, filter: ${text}) { nodes { id } } }`
      const response = await app.rest(tenant, 'POST', '/graphql', { query, variables: { filter } })
      expect(response.json().errors).toBeUndefined()
      return response.headers['x-cost-requested']
    }
    for (const filter of [{ ids: ['usr_1'] }, { and: [{ email: 'a' }, { ids: [] }] }, { and: [] }]) {
      expect(await costOf(filter)).toBe('2')
    }
    const searches = [
      { platforms: ['X'] },
      { or: [{ ids: [] }] },
      { not: {} },
      { account: {} },
      { phoneIsNull: false },
      { hasAccounts: true },
    ]
    for (const filter of [...searches, { and: [{}, { and: { search: 'a' } }] }]) expect(await costOf(filter)).toBe('52')
    expect(await costOf({ nameContains: 'a' }, '{ and: [$filter] }')).toBe('52')
  })
})

describe('a filter that says "without"', () => {
  it('has a condition for each nullable field of its type without arguments, except the one that has a default', () => {
    for (const kind of kinds) {
      const { [kind]: type, [`${kind}Filter`]: filter } = schemas.schema.getTypeMap()
      if (!isObjectType(type) || !isInputObjectType(filter)) throw new Error(`${kind} has no filter`)
      const nullable = Object.values(type.getFields()).filter(
        ({ type: of, args, extensions }) => isLeafType(of) && args.length === 0 && !metadataOf({ extensions }).isMasked,
      )
      const conditions = Object.keys(filter.getFields()).filter((name) => name.endsWith('IsNull'))
      const expected = nullable.map(({ name }) => `${name}IsNull`)
      // Everybody has an email address, which is null only for viewers without its scope.
      expect(conditions.toSorted()).toEqual(expected.filter((name) => name !== 'emailIsNull').toSorted())
    }
  })

  it('selects the rows that `not` selects for rows with related rows', async () => {
    const without = await idsOf('User', { hasAccounts: false })
    expect(without.length).toBeGreaterThan(0)
    expect(without).toEqual(await idsOf('User', { not: { account: {} } }))
    expect(await idsOf('Account', { hasProfile: false })).toEqual(await idsOf('Account', { not: { profile: {} } }))
  })

  it('sees no accounts of other users with the token of a user', async () => {
    expect(await idsOf('User', { hasAccounts: true }, user)).toEqual(
      expectedIds('User', { hasAccounts: true }, ofUser(people, 'usr_1')),
    )
  })
})

describe('a list waits for other searches of the tenant, or not, with the filter', () => {
  it.each<[object, number]>([
    [{ ids: ['usr_1'] }, 0],
    [{ and: [{ email: 'a' }, { ids: [] }] }, 0],
    [{ or: [{ ids: ['usr_1'] }] }, 1],
    [{ and: [{ not: { ids: ['usr_1'] } }] }, 1],
    [{ account: {} }, 1],
    [{ phoneIsNull: true }, 1],
    [{ hasAccounts: false }, 1],
    [{ hasAccounts: null, phoneIsNull: null }, 0],
    [{ and: [{ platforms: ['X'] }] }, 1],
  ])('%j', async (filter, times) => {
    const run = vi.spyOn(app.services.queues.searches, 'run')
    await app.graphql(tenant, 'query ($f: UserFilter) { users(filter: $f) { nodes { id } } }', { f: filter })
    expect(run).toHaveBeenCalledTimes(times)
    run.mockRestore()
  })
})

describe('a filter is rejected with the bound if', () => {
  const nested = (depth: number): object => (depth === 0 ? { platform: 'X' } : { not: nested(depth - 1) })
  const account = (depth: number): object =>
    depth === 0 ? {} : depth % 2 === 0 ? { user: account(depth - 1) } : { account: account(depth - 1) }

  it.each<[string, object, object, string]>([
    [
      'it has too many conditions',
      { or: Array(20).fill({ platform: 'X' }) },
      { or: Array(21).fill({}) },
      'filter must have at most 20 conditions',
    ],
    [
      'related rows have too many conditions',
      { account: { or: Array(20).fill({ platform: 'X' }) } },
      { platform: 'X', account: { or: Array(20).fill({ platform: 'X' }) } },
      'filter must have at most 20 conditions',
    ],
    ['it is nested too deep', nested(4), nested(5), 'filter must be nested at most 4 deep'],
    [
      'relations are nested too deep',
      account(3),
      { account: { user: account(3) } },
      'filter must be nested at most 4 deep',
    ],
    [
      'a list is too long',
      { ids: Array(100).fill('x') },
      { ids: Array(101).fill('x') },
      'filter.ids must have at most 100 entries',
    ],
    [
      'a list within it is too long',
      { or: [{}, { account: { statuses: Array(100).fill('EXPIRED') } }] },
      { or: [{}, { account: { statuses: Array(101).fill('EXPIRED') } }] },
      'filter.or.1.account.statuses must have at most 100 entries',
    ],
    [
      'a value is impossible',
      { and: [{ platforms: ['x'.repeat(320)] }] },
      { and: [{ platforms: ['x', 'x'.repeat(501), '\0'] }] },
      'filter.and.0.platforms.1 must have at most 500 characters; filter.and.0.platforms.2 must not contain NUL characters or unpaired surrogates',
    ],
  ])('%s', async (_, accepted, rejected, message) => {
    expect((await read('User', accepted)).errors).toBeUndefined()
    const statements = await app.statementsOf(async () => {
      const { errors } = await read('User', rejected)
      expect(errors).toMatchObject([{ message: `Invalid input: ${message}.`, extensions: { code: 'BAD_USER_INPUT' } }])
    })
    expect(statements).toEqual([])
  })
})

describe('a filter needs the scopes that reading needs:', () => {
  async function keyWith(granted: readonly Scope[]): Promise<TestTenant> {
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: granted.join(), scopes: granted })
    return { ...tenant, key }
  }

  it.each<[Kind, Scope, object, string]>([
    ['User', 'contacts:read', { or: [{ not: { email: 'a' } }] }, 'nodes { email }'],
    ['User', 'contacts:read', { not: { phoneIsNull: true } }, 'nodes { phone }'],
    ['Profile', 'contacts:read', { dateOfBirthIsNull: false }, 'nodes { dateOfBirth }'],
    ['Account', 'profiles:read', { hasProfile: false }, 'nodes { profile { id } }'],
    ['User', 'profiles:read', { account: { profile: {} } }, 'nodes { accounts { profile { id } } }'],
    ['Account', 'profiles:read', { not: { profile: { country: 'DE' } } }, 'nodes { profile { id } }'],
    ['Account', 'contacts:read', { user: { email: 'a' } }, 'nodes { user { email } }'],
    ['Profile', 'users:read', { and: [{ account: {} }] }, 'nodes { account { id } }'],
  ])('%s, %s, %j', async (kind, scope, filter, reading) => {
    const few = await keyWith(scopes.filter((one) => one !== scope))
    const { errors: errorsOfRead } = await app.graphql(few, `{ ${lists[kind]}(first: 500) { ${reading} } }`)
    const message = errorsOfRead?.[0]?.message
    expect(message).toBe(`This needs the scope ${scope}.`)
    const literal = JSON.stringify(filter).replace(/"(\w+)":/g, '$1: ')
    const attempts = [
      () => read(kind, filter, few),
      () => app.graphql(few, `{ ${lists[kind]}(filter: ${literal}) { nodes { id } } }`),
    ]
    // More than once, because the second run of an operation is compiled.
    for (const attempt of [...attempts, ...attempts, ...attempts]) {
      const statements = await app.statementsOf(async () => {
        expect((await attempt()).errors).toMatchObject([{ message, extensions: { code: 'FORBIDDEN' } }])
      })
      expect(statements).toEqual([])
    }
    // The operation is prepared. Other values of its variables need no scope.
    expect((await read(kind, { and: [{}] }, few)).errors).toBeUndefined()
    expect((await read(kind, filter)).errors).toBeUndefined()
  })

  it('a search of related users looks at email addresses only with contacts:read', async () => {
    const { email } = people.User.find(({ id }) => id === 'usr_1') ?? { email: '' }
    const filter = { user: { or: [{ search: email }] } }
    expect(await idsOf('Account', filter)).not.toEqual([])
    expect(await idsOf('Account', filter, await keyWith(['users:read', 'profiles:read']))).toEqual([])
  })
})

it('pages continue with the cursor when the filter changes', async () => {
  const first = await read('User', { not: { ids: ['usr_2'] } }, tenant, { first: 1 })
  const after = first.data.list.pageInfo.endCursor
  const { data, errors } = await read('User', { or: [{ ids: ['usr_3', 'usr_4'] }] }, tenant, { after })
  expect(errors).toBeUndefined()
  expect(data.list.nodes.length).toBeGreaterThan(0)
})
