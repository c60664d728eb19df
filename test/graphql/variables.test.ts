import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
  isUnionType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../src/graphql/operation/schema.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let one: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  one = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

type Field = GraphQLField<unknown, unknown>

/** Values that the services accept, for inputs whose type says too little. */
function valueByName(name: string): unknown {
  const values: Record<string, unknown> = {
    accountId: one.account.id,
    accountIds: [one.account.id],
    code: 'BUSY',
    country: 'DE',
    first: 2,
    gender: 'FEMALE',
    ids: [one.user.id, one.job.id],
    jobType: 'greet',
    jobTypes: ['greet'],
    leaseToken: '00000000-0000-4000-8000-000000000000',
    limit: 1,
    leaseSeconds: 30,
    maxAttempts: 2,
    platform: 'YOUTUBE',
    profilePictureUrl: 'https://example.com/picture',
    progress: 0.5,
    url: 'https://example.com/',
    userId: one.user.id,
    websiteUrl: 'https://example.com/site',
  }
  return values[name]
}

const valueByType: Record<string, unknown> = {
  Boolean: true,
  Date: '1990-05-17',
  DateTime: '2026-01-31T08:00:00.000Z',
  Float: 12.5,
  ID: 'an-id',
  Int: 1,
  JSONObject: { z: 1, a: [null, { ключ: '"' }] },
  SafeInt: 2 ** 53 - 1,
  String: 'a text',
}

function sampleOf(type: GraphQLInputType, name: string): unknown {
  const known = valueByName(name)
  if (known !== undefined) return known
  const nullable = getNullableType(type)
  if (isListType(nullable)) return [sampleOf(nullable.ofType, name)]
  if (isEnumType(nullable)) return nullable.getValues()[0]?.name
  if (!isInputObjectType(nullable)) return valueByType[nullable.toString()]
  const fields = Object.values(nullable.getFields())
  return Object.fromEntries(fields.map((field) => [field.name, sampleOf(field.type, field.name)]))
}

/** Arguments that cannot be given together with another of the same field. */
const exclusive = new Set(['last', 'after', 'before'])

/** An operation with every argument of a root field in a variable, and the variables. */
function operationOf(kind: string, { name, args, type }: Field) {
  const given = args.filter((arg) => !exclusive.has(arg.name))
  const declared = given.map((arg) => `$${arg.name}: ${arg.type}`).join(', ')
  const used = given.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const named = getNamedType(type)
  const userErrors = isObjectType(named) && 'userErrors' in named.getFields() ? 'userErrors { code field }' : ''
  const result = isObjectType(named) || isUnionType(named) || 'getFields' in named ? `{ __typename ${userErrors} }` : ''
  const [open, close] = given.length > 0 ? [`(${declared})`, `(${used})`] : ['', '']
  return {
    query: `${kind} ${open} { ${name}${close} ${result} }`,
    variables: Object.fromEntries(given.map((arg) => [arg.name, sampleOf(arg.type, arg.name)])),
  }
}

const fieldsOf = (kind: 'Query' | 'Mutation' | 'Subscription') =>
  Object.values((schema.getType(kind) as { getFields(): Record<string, Field> }).getFields())

describe('an operation with every argument in a variable answers the same the first, second and third time', () => {
  it.each(fieldsOf('Query').map((field) => [field.name, field] as const))('query %s', async (_, field) => {
    const { query, variables } = operationOf('query', field)
    const answers = [1, 2, 3].map(() => app.graphql(tenant, query, variables))
    const [first, second, third] = [await answers[0], await answers[1], await answers[2]]
    expect(first?.errors).toBeUndefined()
    expect([second, third]).toEqual([first, first])
  })

  it.each(fieldsOf('Mutation').map((field) => [field.name, field] as const))('mutation %s', async (_, field) => {
    const { query, variables } = operationOf('mutation', field)
    // A deleted row is missing the second time: ids of no row are answered in one way.
    const isDeletion = /^(delete|unlink)/.test(field.name)
    const input = { ...(variables['input'] as object), ...(isDeletion && { id: 'missing' }) }
    const first = await app.graphql(tenant, query, { input })
    expect(first.errors).toBeUndefined()
    for (const time of [2, 3]) expect([time, await app.graphql(tenant, query, { input })]).toEqual([time, first])
  })

  it.each(fieldsOf('Subscription').map((field) => [field.name, field] as const))(
    'subscription %s',
    async (_, field) => {
      const { query, variables } = operationOf('subscription', field)
      const address = await addressOf(app)
      for (const _time of [1, 2, 3]) {
        const events = await subscribe(address, tenant.key, query, variables)
        const event = await events.next()
        events.close()
        expect(event?.data?.errors).toBeUndefined()
        expect(event?.data?.data).toHaveProperty(field.name)
      }
    },
  )
})

it('syncProfile stores every scalar of its variables, each time', async () => {
  const { query, variables } = operationOf(
    'mutation',
    fieldsOf('Mutation').find(({ name }) => name === 'syncProfile') as Field,
  )
  for (const _time of [1, 2, 3]) {
    const { data, errors } = await app.graphql<{ syncProfile: { userErrors: unknown[] } }>(tenant, query, variables)
    expect([errors, data.syncProfile.userErrors]).toEqual([undefined, []])
    const profile = await app.database.prisma.profile.findFirstOrThrow({ where: { accountId: one.account.id } })
    expect(profile).toMatchObject({
      dateOfBirth: new Date('1990-05-17'),
      joinedAt: new Date('2026-01-31T08:00:00.000Z'),
      followersCount: 9007199254740991n,
      watchTimeInHours: 12.5,
      verified: true,
      fullName: 'a text',
      addresses: [{ z: 1, a: [null, { ключ: '"' }] }],
    })
  }
})

it('the defaults of variables are applied once', async () => {
  const query = `query ($first: Int! = 1, $filter: UserFilter! = { createdAfter: "2020-01-01T00:00:00.000Z" }) {
    users(first: $first, filter: $filter) { nodes { id } }
  }`
  const expected = { users: { nodes: [{ id: one.user.id }] } }
  for (const _time of [1, 2, 3]) expect((await app.graphql(tenant, query)).data).toEqual(expected)
})

it('an invalid value is rejected with the same error each time', async () => {
  const query = 'mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { code } } }'
  const input = { accountId: one.account.id, dateOfBirth: '1990-02-30' }
  const first = await app.graphql(tenant, query, { input })
  expect(first.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  for (const _time of [2, 3]) expect(await app.graphql(tenant, query, { input })).toEqual(first)
})
