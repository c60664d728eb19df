import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach } from '../support/factories.ts'
import { type Field, fieldsOf, operationOf, type SampleIds } from '../support/operations.ts'

let app: TestApp
let tenant: TestTenant
let ids: SampleIds

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { userId: user.id, accountId: account.id, jobId: job.id }
})
afterAll(() => app.close())

describe('an operation with every argument in a variable', () => {
  it.each(fieldsOf('Query').map((field) => [field.name, field] as const))(
    'returns the same response three times: query %s',
    async (_, field) => {
      const { query, variables } = operationOf('query', field, ids)
      const responses = [1, 2, 3].map(() => app.graphql(tenant, query, variables))
      const [first, second, third] = [await responses[0], await responses[1], await responses[2]]
      expect(first?.errors).toBeUndefined()
      expect([second, third]).toEqual([first, first])
    },
  )

  it.each(fieldsOf('Mutation').map((field) => [field.name, field] as const))(
    'returns the same response three times: mutation %s',
    async (_, field) => {
      const { query, variables } = operationOf('mutation', field, ids)
      // A deletion uses a missing id, because a deleted row is missing the second time.
      const isDeletion = /^(delete|unlink)/.test(field.name)
      const inputOf = (input: object) => ({ ...input, ...(isDeletion && { id: 'missing' }) })
      const { input, inputs } = variables as { readonly input: object; readonly inputs?: readonly object[] }
      const sent = inputs ? { inputs: inputs.map(inputOf) } : { input: inputOf(input) }
      const first = await app.graphql(tenant, query, sent)
      expect(first.errors).toBeUndefined()
      for (const time of [2, 3]) expect([time, await app.graphql(tenant, query, sent)]).toEqual([time, first])
    },
  )

  it.each(fieldsOf('Subscription').map((field) => [field.name, field] as const))(
    'starts three times without an error: subscription %s',
    async (_, field) => {
      const { query, variables } = operationOf('subscription', field, ids)
      const address = await addressOf(app)
      for (const _time of [1, 2, 3]) {
        const events = await subscribe(address, tenant.key, query, variables)
        // The subscription to events sends nothing before there is one.
        if (field.name === 'events') await createOneOfEach(app, tenant)
        const event = await events.next()
        events.close()
        expect(event?.data?.errors).toBeUndefined()
        expect(event?.data?.data).toHaveProperty(field.name)
      }
    },
  )
})

it('syncProfile stores every scalar of its variables each time', async () => {
  const { query, variables } = operationOf(
    'mutation',
    fieldsOf('Mutation').find(({ name }) => name === 'syncProfile') as Field,
    ids,
  )
  for (const _time of [1, 2, 3]) {
    const { data, errors } = await app.graphql<{ syncProfile: { userErrors: unknown[] } }>(tenant, query, variables)
    expect([errors, data.syncProfile.userErrors]).toEqual([undefined, []])
    const profile = await app.database.prisma.profile.findFirstOrThrow({ where: { accountId: ids.accountId } })
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

it('the defaults of variables apply each time', async () => {
  const query = `query ($first: Int! = 1, $filter: UserFilter! = { createdAfter: "2020-01-01T00:00:00.000Z" }) {
    users(first: $first, filter: $filter) { nodes { id } }
  }`
  const expected = { users: { nodes: [{ id: ids.userId }] } }
  for (const _time of [1, 2, 3]) expect((await app.graphql(tenant, query)).data).toEqual(expected)
})

it('an invalid value is rejected with the same error each time', async () => {
  const query = 'mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { code } } }'
  const input = { accountId: ids.accountId, dateOfBirth: '1990-02-30' }
  const first = await app.graphql(tenant, query, { input })
  expect(first.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  for (const _time of [2, 3]) expect(await app.graphql(tenant, query, { input })).toEqual(first)
})
