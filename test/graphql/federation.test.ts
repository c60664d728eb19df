import type { Scope } from '@fusion-gateway/base'
import { composeServices } from '@theguild/federation-composition'
import { buildSchema, parse, printSchema } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { printSubgraphSchema } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp({ federation: true, batching: true })
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

const query = `query Entities($representations: [_Any!]!) {
  _entities(representations: $representations) {
    __typename
    ... on User { id name accounts { id profile { id emails { value } } } }
    ... on Account { id displayName user { name } }
    ... on Profile { id username account { displayName } }
    ... on EmailRecord { id value }
    ... on Job { id jobType }
  }
}`

interface Entity {
  readonly __typename: string
  readonly id: string
}

const ask = (representations: readonly object[], as = tenant, text = query) =>
  app.graphql<{ _entities: (Entity | null)[] }>(as, text, { representations })

async function keyWith(...scopes: Scope[]): Promise<TestTenant> {
  const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'limited', scopes })
  return { ...tenant, key }
}

/** A subgraph of another team, which has users by their ids, accounts by their platform, and nodes of its own. */
const orders = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key", "@shareable"])
  type Query { order(id: ID!): Order }
  type Order implements Node @key(fields: "id") { id: ID! total: Int! buyer: User! channel: Account }
  type User @key(fields: "id") { id: ID! orders: [Order!]! }
  type Account @key(fields: "platform platformAccountId") { platform: String! platformAccountId: String! }
  type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
  interface Node { id: ID! }
`

describe('the subgraph', () => {
  it('is not there without FEDERATION=on', async () => {
    const other = await app.startAnother({})
    const { errors } = await other.graphql(tenant, '{ _service { sdl } }')
    expect(errors).toMatchObject([{ message: expect.stringContaining('_service') }])
    await other.close()
  })

  it('tells its schema, with the keys of its entities', async () => {
    const { data } = await app.graphql<{ _service: { sdl: string } }>(tenant, '{ _service { sdl } }')
    const { sdl } = data._service
    expect(sdl).toBe(printSubgraphSchema())
    for (const type of ['Profile', 'EmailRecord', 'Job']) {
      expect(sdl).toContain(`type ${type} implements Node @key(fields: "id") {`)
    }
    expect(sdl).toContain(
      'type Account implements Node @key(fields: "id") @key(fields: "platform platformAccountId") {',
    )
    expect(sdl).toContain('type User implements Node @key(fields: "id") @key(fields: "externalId") {')
    expect(sdl).not.toContain('_entities')
  })

  it('composes with a subgraph of another team that refers to users and accounts, and has nodes too', () => {
    const result = composeServices([
      { name: 'fusion', typeDefs: parse(printSubgraphSchema()), url: 'http://fusion' },
      { name: 'orders', typeDefs: parse(orders), url: 'http://orders' },
    ])
    expect(result.errors ?? []).toEqual([])
    const text = printSchema(buildSchema(result.publicSdl ?? '', { assumeValid: true }))
    expect(text).toMatch(/type User implements Node \{[^}]*orders: \[Order!\]!/s)
    expect(text).not.toMatch(/^ {2}nodes?\(/m)
  })
})

describe('_entities', () => {
  it('returns objects of each type in the order of the references, and one that repeats each time', async () => {
    const { user, account, profile, email, job } = rows
    const references = [
      { __typename: 'Job', id: job.id },
      { __typename: 'User', id: user.id },
      { __typename: 'Account', platform: account.platform, platformAccountId: account.platformAccountId },
      { __typename: 'EmailRecord', id: email.id },
      { __typename: 'User', id: user.id },
      { __typename: 'Profile', id: profile.id },
      { __typename: 'Account', id: account.id },
    ]
    // Interpreted, then compiled.
    for (const _run of [1, 2, 3]) {
      const { data, errors } = await ask(references)
      expect(errors).toBeUndefined()
      expect(data._entities).toMatchObject([
        { __typename: 'Job', id: job.id },
        {
          __typename: 'User',
          id: user.id,
          name: user.name,
          accounts: [{ id: account.id, profile: { id: profile.id } }],
        },
        { __typename: 'Account', id: account.id, user: { name: user.name } },
        { __typename: 'EmailRecord', id: email.id, value: email.value },
        { __typename: 'User', id: user.id, name: user.name },
        { __typename: 'Profile', id: profile.id, account: { displayName: account.displayName } },
        { __typename: 'Account', id: account.id },
      ])
    }
  })

  it('finds users by their external ids with one statement more, and none of another tenant', async () => {
    const [mine, other] = [await app.createTenant(), await app.createTenant()]
    const { id } = await factoriesFor(app, mine).user({ externalId: 'crm-1' })
    await factoriesFor(app, other).user({ externalId: 'crm-2' })
    const references = ['crm-1', 'crm-2', 'crm-1', 'a\0b', ''].map((externalId) => ({ __typename: 'User', externalId }))
    const statements = await app.statementsOf(async () => {
      const { data } = await ask(references, mine)
      expect(data._entities).toMatchObject([{ id }, null, { id }, null, null])
    })
    expect(statements).toHaveLength(2)
  })

  it('takes an integer for the text of a key', async () => {
    const mine = await app.createTenant()
    const create = factoriesFor(app, mine)
    const { id } = await create.account((await create.user()).id, { platform: 'X', platformAccountId: '7' })
    const { data } = await ask([{ __typename: 'Account', platform: 'X', platformAccountId: 7 }], mine)
    expect(data._entities).toMatchObject([{ id }])
  })

  it('is null for what is missing, of another type, or of another tenant', async () => {
    const other = await app.createTenant()
    const { user } = await createOneOfEach(app, other)
    const references = [
      { __typename: 'User', id: 'usr_unknown' },
      { __typename: 'User', id: rows.account.id },
      { __typename: 'User', id: user.id },
      { __typename: 'User', id: '' },
      { __typename: 'Account', platform: 'YOUTUBE', platformAccountId: 'a\0b' },
    ]
    expect((await ask(references)).data._entities).toEqual([null, null, null, null, null])
  })

  it('takes no space in a key for the border between its fields', async () => {
    const mine = await app.createTenant()
    const create = factoriesFor(app, mine)
    const { id } = await create.account((await create.user()).id, { platform: 'X', platformAccountId: 'Y z' })
    const references = [
      { __typename: 'Account', platform: 'X', platformAccountId: 'Y z' },
      { __typename: 'Account', platform: 'X Y', platformAccountId: 'z' },
    ]
    expect((await ask(references, mine)).data._entities).toMatchObject([{ id }, null])
  })

  it('reads each type with one statement, with all that is selected below it', async () => {
    const large = await app.createTenant()
    const create = factoriesFor(app, large)
    const references: object[] = []
    for (let number = 0; number < 30; number += 1) {
      const user = await create.user()
      const account = await create.account(user.id)
      const profile = await create.profile(account)
      await create.email(profile.id)
      references.push({ __typename: 'User', id: user.id }, { __typename: 'Account', id: account.id })
      references.push({ __typename: 'Profile', id: profile.id })
    }
    const statements = await app.statementsOf(async () => {
      const { data } = await ask(references, large)
      expect(data._entities.every((entity) => entity !== null)).toBe(true)
    })
    expect(statements).toHaveLength(3)
  })

  it('finds accounts by their platform with one statement more', async () => {
    const { account } = rows
    const reference = {
      __typename: 'Account',
      platform: account.platform,
      platformAccountId: account.platformAccountId,
    }
    const statements = await app.statementsOf(() => ask([reference, reference]))
    expect(statements).toHaveLength(2)
  })

  it('has an error for each entry whose type the viewer may not read', async () => {
    const references = [
      { __typename: 'User', id: rows.user.id },
      { __typename: 'Job', id: rows.job.id },
    ]
    const text =
      'query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on User { id } ... on Job { id } } }'
    const { data, errors } = await ask(references, await keyWith('users:read'), text)
    expect(data._entities).toEqual([{ id: rows.user.id }, null])
    expect(errors).toMatchObject([{ path: ['_entities', 1], extensions: { code: 'FORBIDDEN' } }])
  })

  it('returns to the token of a user only what belongs to the user', async () => {
    const { user: other, account } = await createOneOfEach(app, tenant)
    const { data: created } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: rows.user.id, scopes: ['users:read', 'profiles:read'] } },
    )
    const as = { ...tenant, token: created.createAccessToken.accessToken }
    const references = [
      { __typename: 'User', id: rows.user.id },
      { __typename: 'User', id: other.id },
      { __typename: 'Account', platform: account.platform, platformAccountId: account.platformAccountId },
    ]
    const text =
      'query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on User { id } ... on Account { id } } }'
    expect((await ask(references, as, text)).data._entities).toEqual([{ id: rows.user.id }, null, null])
  })

  it.each<[object, string]>([
    [{ __typename: 'Order', id: '1' }, 'must have one of these as __typename: User, Account'],
    [{ id: '1' }, 'must have one of these as __typename: User, Account'],
    [{ __typename: 'User' }, 'must have the key id, or externalId'],
    [{ __typename: 'User', id: {} }, 'must have the key id'],
    [{ __typename: 'Account', platform: 'YOUTUBE' }, 'must have the key id, or platform platformAccountId'],
    [{ __typename: 'User', id: null }, 'must have the key id'],
  ])('names what is wrong with the reference %j, and returns the others', async (reference, message) => {
    const { data, errors } = await ask([reference, { __typename: 'User', id: rows.user.id }, reference])
    expect(data._entities).toMatchObject([null, { id: rows.user.id }, null])
    expect(errors).toMatchObject(
      [0, 2].map((index) => ({
        path: ['_entities', index],
        extensions: {
          code: 'BAD_USER_INPUT',
          fields: [{ field: `representations.${index}`, message: expect.stringContaining(message) }],
        },
      })),
    )
  })

  it('reads 500 references at a time, and charges a point for each', async () => {
    const references = Array.from({ length: 1_000 }, (_, index) => ({ __typename: 'User', id: `usr_${index}` }))
    references[999] = { __typename: 'User', id: rows.user.id }
    const text =
      'query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on User { id } } }'
    let entities: unknown
    const statements = await app.statementsOf(async () => {
      entities = (await ask(references, tenant, text)).data._entities
    })
    expect(entities).toEqual([...Array(999).fill(null), { id: rows.user.id }])
    expect(statements).toHaveLength(2)
    const payload = { query: text, variables: { representations: references.slice(0, 100) } }
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'x-api-key': tenant.key },
      payload,
    })
    expect(response.json()).toMatchObject({ extensions: { cost: { requested: 100 } } })
  })

  it('works with literals, aliases, @include and in batches', async () => {
    const literal = `query ($no: Boolean!) { one: _entities(representations: [{ __typename: "User", id: "${rows.user.id}" }]) {
      ... on User { name accounts @include(if: $no) { id } } } }`
    const one = { query: literal, variables: { no: false } }
    const payload = [one, { query, variables: { representations: [{ __typename: 'Job', id: rows.job.id }] } }]
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'x-api-key': tenant.key },
      payload,
    })
    expect(response.json()).toMatchObject([
      { data: { one: [{ name: rows.user.name }] } },
      { data: { _entities: [{ id: rows.job.id }] } },
    ])
    expect(response.json()[0].data.one[0]).not.toHaveProperty('accounts')
  })
})
