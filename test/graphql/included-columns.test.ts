import { selectColumns } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let ids: { user: string; account: string }

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await seedTenant(app.database, { tenantAppId: tenant.tenantAppId, users: 3, seed: 7 })
  const account = await app.database.prisma.account.findFirstOrThrow()
  ids = { user: account.userId, account: account.id }
})
afterAll(() => app.close())

/** Fields of each level of a tree, half of them behind a variable. */
const profile = '{ username @include(if: $more) fullName displayName createdAt country @skip(if: $more) category }'
const account = `{ platform @include(if: $more) displayName createdAt profile ${profile} }`
const user = `{ email @include(if: $more) createdAt phone @skip(if: $more) name accounts ${account} }`
/** The same columns of the user each time, so that only the levels below differ. */
const sameUser = `{ createdAt name accounts ${account} }`

/** Where the columns of a level can depend on a variable. Each is a selection of the query. */
const places: [string, () => string][] = [
  ['a row without relations', () => `user(id: "${ids.user}") { email @include(if: $more) createdAt name }`],
  ['the root of a tree', () => `user(id: "${ids.user}") ${user}`],
  ['a level below', () => `account(id: "${ids.account}") { profile ${profile} }`],
  ['a page', () => `users(first: 2) { nodes ${sameUser} }`],
  ['a page without relations', () => 'accounts(first: 2) { nodes { platform @include(if: $more) displayName } }'],
  ['the way back', () => `account(id: "${ids.account}") { user { accounts { user ${user} } } }`],
  ['node', () => `node(id: "${ids.user}") { ... on User ${sameUser} }`],
  ['fragments', () => `user(id: "${ids.user}") { ... @include(if: $more) { email } accounts { createdAt } name }`],
]

describe('every value is in its own field when a variable decides which columns are read', () => {
  it.each(places)('%s', async (_name, selection) => {
    const document = `query ($more: Boolean!) { ${selection()} }`
    const literal = (more: boolean) => document.replace('($more: Boolean!)', '').replaceAll('$more', String(more))
    for (const more of [true, false, true, false, false, true]) {
      const { data, errors } = await app.graphql(tenant, document, { more })
      expect(errors).toBeUndefined()
      const expected = await app.graphql(tenant, literal(more))
      expect(JSON.stringify(data)).toBe(JSON.stringify(expected.data))
    }
  })
})

describe('a result of other columns is an error', () => {
  it('as a row and as JSON', () => {
    const { database } = app
    const { toRow, toRows } = selectColumns(database.model('User'), {
      isSelected: ({ field }) => field === 'id' || field === 'name',
    })
    const message = 'The database returned 3 columns instead of 2: id, name'
    expect(() => toRow(['usr_1', 'olga@example.com', 'Olga'])).toThrow(message)
    expect(() => toRows('[["usr_1"],["olga@example.com"],["Olga"]]')).toThrow(message)
    expect(() => toRows('[["usr_1"]]')).toThrow('The database returned 1 columns instead of 2: id, name')
  })
})
