import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTenant } from '../../src/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await seedTenant(app.database, { tenantAppId: tenant.tenantAppId, users: 500, seed: 7 })
})
afterAll(() => app.close())

/** How many statements a query sends, having made sure that it answers. */
async function countStatements(query: string, variables?: Record<string, unknown>): Promise<number> {
  const statements = await app.statementsOf(async () => {
    const { errors } = await app.graphql(tenant, query, variables)
    expect(errors).toBeUndefined()
  })
  return statements.length
}

describe('SQL statements grow with the depth of a query, never with its rows', () => {
  const forests = (first: number, fields: string) => `{ users(first: ${first}) { nodes { ${fields} } } }`

  it.each([1, 20, 500])('users → accounts → profile → emails of %i users is 4 statements', async (first) => {
    const fields = 'id accounts { id profile { id emails { id value } } }'
    expect(await countStatements(forests(first, fields))).toBe(4)
  })

  it.each([
    ['account → user', 'accounts { user { name } }', 2],
    ['profile → account', 'accounts { profile { account { id } } }', 3],
    ['email → profile', 'accounts { profile { emails { profile { id } } } }', 4],
  ])('the back edge %s is at most one statement more', async (_edge, fields, forwards) => {
    expect(await countStatements(forests(500, fields))).toBeLessThanOrEqual(forwards + 1)
  })

  it('both directions of every edge at once is at most three statements more', async () => {
    const fields = 'accounts { user { id } profile { account { id } emails { profile { id } } } }'
    expect(await countStatements(forests(100, fields))).toBeLessThanOrEqual(4 + 3)
  })

  it('the same relation under two aliases is read once', async () => {
    expect(await countStatements(forests(100, 'a: accounts { id } b: accounts { displayName }'))).toBe(2)
  })
})

describe('by id', () => {
  it('sixty users under aliases are one statement', async () => {
    const { data } = await app.graphql<{ users: { nodes: { id: string }[] } }>(
      tenant,
      '{ users(first: 60) { nodes { id } } }',
    )
    const fields = data.users.nodes.map(({ id }, index) => `u${index}: user(id: "${id}") { name }`)
    expect(await countStatements(`{ ${fields.join(' ')} }`)).toBe(1)
  })

  it('user(id) and node(id) share a statement', async () => {
    const { data } = await app.graphql<{ users: { nodes: { id: string }[] } }>(
      tenant,
      '{ users(first: 2) { nodes { id } } }',
    )
    const [one, two] = data.users.nodes
    expect(await countStatements(`{ user(id: "${one?.id}") { id } node(id: "${two?.id}") { id } }`)).toBe(1)
  })

  it('five hundred nodes of unknown type are at most one statement a type', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `elsewhere-${index}`)
    expect(await countStatements('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).toBe(5)
  })

  it('an id that no row can have costs no statement', async () => {
    const id = 'x'.repeat(10_000)
    expect(await countStatements('query ($id: ID!) { user(id: $id) { id } node(id: $id) { id } }', { id })).toBe(0)
  })

  it('profiles of 500 accounts with their emails are 2 statements', async () => {
    const { data } = await app.graphql<{ users: { nodes: { accounts: { id: string }[] }[] } }>(
      tenant,
      '{ users(first: 500) { nodes { accounts { id } } } }',
    )
    const accountIds = data.users.nodes.flatMap(({ accounts }) => accounts.map(({ id }) => id)).slice(0, 500)
    const query = 'query ($accountIds: [ID!]!) { profiles(accountIds: $accountIds) { id emails { id } } }'
    expect(await countStatements(query, { accountIds })).toBe(2)
  })
})

describe('totalCount', () => {
  it('costs a statement only where it is asked for', async () => {
    expect(await countStatements('{ users { nodes { id } } }')).toBe(1)
    expect(await countStatements('{ users { totalCount nodes { id } } }')).toBe(2)
  })
})

describe('REST', () => {
  it.each([
    ['/users?limit=100', 2],
    ['/users?limit=500', 2],
    // One full page says that there may be more only when there is one row more: 500 users are one page.
    ['/users', 2],
  ])('%s is %i statements', async (url, expected) => {
    const statements = await app.statementsOf(async () => {
      const answer = await app.rest(tenant, 'GET', url)
      expect(answer.statusCode).toBe(200)
    })
    expect(statements).toHaveLength(expected)
  })
})
