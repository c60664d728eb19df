import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { tenantAppId } = tenant
  await seedTenant(app.database, { tenantAppId, users: 100, seed: 7 })
  // Most users have no accounts, which take long to create.
  const user = { tenantAppId, name: 'Ada', email: 'ada@example.com', phone: '' }
  const data = Array.from({ length: 400 }, (_, number) => ({ ...user, id: `usr_${number}` }))
  await app.database.prisma.user.createMany({ data })
})
afterAll(() => app.close())

/** Counts the statements of a query, which must succeed. */
async function countStatements(query: string, variables?: Record<string, unknown>): Promise<number> {
  const statements = await app.statementsOf(async () => {
    const { errors } = await app.graphql(tenant, query, variables)
    expect(errors).toBeUndefined()
  })
  return statements.length
}

describe('a query', () => {
  const usersWith = (first: number, fields: string) => `{ users(first: ${first}) { nodes { ${fields} } } }`

  it.each([1, 20, 500])('sends one statement for users → accounts → profile → emails of %i users', async (first) => {
    const fields = 'id accounts { id profile { id emails { id value } } }'
    expect(await countStatements(usersWith(first, fields))).toBe(1)
  })

  it.each([
    ['account → user', 500, 'accounts { user { name } }'],
    ['profile → account', 500, 'accounts { profile { account { id } } }'],
    ['email → profile', 500, 'accounts { profile { emails { profile { id } } } }'],
    ['of every relation', 100, 'accounts { user { id } profile { account { id } emails { profile { id } } } }'],
    ['under two aliases', 100, 'a: accounts { id } b: accounts { displayName user { name } }'],
  ])('sends one statement for the back edge %s of %i users', async (_edge, first, fields) => {
    expect(await countStatements(usersWith(first, fields))).toBe(1)
  })
})

describe('a query by id', () => {
  it('sends one statement for 60 users under aliases', async () => {
    const { data } = await app.graphql<{ users: { nodes: { id: string }[] } }>(
      tenant,
      '{ users(first: 60) { nodes { id } } }',
    )
    const fields = data.users.nodes.map(({ id }, index) => `u${index}: user(id: "${id}") { name }`)
    expect(await countStatements(`{ ${fields.join(' ')} }`)).toBe(1)
  })

  it('sends one statement for user(id) and node(id)', async () => {
    const { data } = await app.graphql<{ users: { nodes: { id: string }[] } }>(
      tenant,
      '{ users(first: 2) { nodes { id } } }',
    )
    const [one, two] = data.users.nodes
    expect(await countStatements(`{ user(id: "${one?.id}") { id } node(id: "${two?.id}") { id } }`)).toBe(1)
  })

  it('sends one statement per type for 500 nodes of unknown types', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `elsewhere-${index}`)
    expect(await countStatements('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).toBe(5)
  })

  it('sends no statement for an id that no row can have', async () => {
    const id = 'x'.repeat(10_000)
    expect(await countStatements('query ($id: ID!) { user(id: $id) { id } node(id: $id) { id } }', { id })).toBe(0)
  })

  it('sends one statement for the profiles and emails of 500 accounts', async () => {
    const { data } = await app.graphql<{ users: { nodes: { accounts: { id: string }[] }[] } }>(
      tenant,
      '{ users(first: 500) { nodes { accounts { id } } } }',
    )
    const existing = data.users.nodes.flatMap(({ accounts }) => accounts.map(({ id }) => id))
    const missing = Array.from({ length: 500 - existing.length }, (_, number) => `acc_${number}`)
    const accountIds = [...existing, ...missing]
    const query = 'query ($accountIds: [ID!]!) { profiles(accountIds: $accountIds) { id emails { id } } }'
    expect(await countStatements(query, { accountIds })).toBe(1)
  })
})

describe('totalCount', () => {
  it('costs one statement, and only if it is selected', async () => {
    expect(await countStatements('{ users { nodes { id } } }')).toBe(1)
    expect(await countStatements('{ users { totalCount nodes { id } } }')).toBe(2)
  })
})

describe('REST', () => {
  it.each([
    ['/users?limit=100', 1],
    ['/users?limit=500', 1],
    // All 500 users fit in one page, so the gateway reads no second page.
    ['/users', 1],
  ])('GET %s sends %i statements', async (url, expected) => {
    const statements = await app.statementsOf(async () => {
      const response = await app.rest(tenant, 'GET', url)
      expect(response.statusCode).toBe(200)
    })
    expect(statements).toHaveLength(expected)
  })
})
