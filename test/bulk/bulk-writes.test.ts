import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createBulk } from '../support/bulk.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let bulk: ReturnType<typeof createBulk>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  bulk = createBulk(app, tenant)
})
afterAll(() => app.close())

const newUser = { name: 'Ada', email: 'ada@example.com', phone: '1' }

let created = 0

/** Creates users with an account each, all with two statements. */
async function createAccounts(count: number) {
  const { tenantAppId } = tenant
  const numbers = Array.from({ length: count }, () => (created += 1))
  const users = numbers.map((number) => {
    return { ...newUser, tenantAppId, id: `usr_${number}`, name: `User ${number}`, externalId: `ext-${number}` }
  })
  const accounts = numbers.map((number) => {
    const platform = { platform: 'YOUTUBE', platformAccountId: `mine-${number}`, displayName: `Account ${number}` }
    return { ...platform, tenantAppId, id: `acc_${number}`, userId: `usr_${number}` }
  })
  await app.database.prisma.user.createMany({ data: users })
  await app.database.prisma.account.createMany({ data: accounts })
  return accounts.map((account, index) => ({ ...account, externalId: `ext-${numbers[index]}` }))
}

describe('a bulk mutation', () => {
  type Account = Awaited<ReturnType<typeof createAccounts>>[number]
  const link = ({ userId }: Account, number: number) => {
    return { userId, platform: 'TWITCH', platformAccountId: `${userId}-${number}`, displayName: 'Ada' }
  }
  const emails = [{ value: 'ada@example.com' }, { value: 'lovelace@example.com', isPrimary: true }]

  const cases: readonly [name: string, statements: number, inputOf: (account: Account, number: number) => object][] = [
    ['createUsers', 1, () => newUser],
    ['updateUsers', 1, ({ userId }) => ({ id: userId, name: 'Grace' })],
    // BEGIN and COMMIT count too.
    // The savepoint is a transaction: BEGIN and COMMIT count too.
    ['updateUsers', 4, ({ userId }) => ({ id: userId, externalId: `of-${userId}` })],
    ['createUsers', 1, ({ userId }) => ({ ...newUser, externalId: `new-${userId}` })],
    ['upsertUsers', 1, ({ userId }) => ({ ...newUser, externalId: `new-${userId}` })],
    ['linkAccounts', 4, link],
    [
      'linkAccounts',
      5,
      (account, number) => ({ ...link(account, number), userId: undefined, userExternalId: account.externalId }),
    ],
    ['syncProfiles', 5, ({ id }) => ({ accountId: id, username: 'ada', emails })],
    ['createJobs', 1, () => ({ jobType: 'bulk', payload: {} })],
    ['unlinkAccounts', 1, ({ id }) => ({ id })],
    ['deleteUsers', 1, ({ userId }) => ({ id: userId })],
  ]
  it.each(cases)(
    'sends as many statements for 100 inputs as for one: %s sends %i',
    async (name, count, inputOf) => {
      for (const size of [1, 100]) {
        const inputs = (await createAccounts(size)).map(inputOf)
        const statements = await app.statementsOf(async () => {
          const results = await bulk(name, inputs)
          expect(results).toEqual(inputs.map(() => ({ userErrors: [] })))
        })
        expect(statements).toHaveLength(count)
      }
    },
    120_000,
  )

  it('sends one statement more for profiles that are read with their emails', async () => {
    const inputs = (await createAccounts(100)).map(({ id }) => ({ accountId: id, emails }))
    const statements = await app.statementsOf(() => bulk('syncProfiles', inputs, 'profile { emails { value } }'))
    expect(statements).toHaveLength(6)
  }, 120_000)

  it('returns a result for each input in their order, and names the rejected inputs', async () => {
    const [one, other] = await createAccounts(2)
    const results = await bulk(
      'updateUsers',
      [
        { id: other?.userId, name: 'Second' },
        { id: 'nobody', name: 'x' },
        { id: one?.userId, name: ' ', email: 'x' },
        { id: one?.userId, name: 'First' },
        { id: 'x'.repeat(200), name: 'x' },
      ],
      'user { id name }',
    )
    expect(results).toMatchObject([
      { user: { id: other?.userId, name: 'Second' }, userErrors: [] },
      { user: null, userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '1', 'id'] }] },
      {
        user: null,
        userErrors: [
          { code: 'REQUIRED', field: ['inputs', '2', 'name'] },
          { code: 'INVALID_FORMAT', field: ['inputs', '2', 'email'] },
        ],
      },
      { user: { id: one?.userId, name: 'First' }, userErrors: [] },
      { user: null, userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '4', 'id'] }] },
    ])
  })

  it('rejects the second of two inputs with the same id or account, with DUPLICATE', async () => {
    const [one, other] = await createAccounts(2)
    const account = { userId: one?.userId, platform: 'X', displayName: 'Ada' }
    const cases = {
      createUsers: [
        { ...newUser, externalId: 'twice' },
        { ...newUser, externalId: 'twice' },
      ],
      updateUsers: [{ id: one?.userId }, { id: one?.userId }],
      upsertUsers: [
        { ...newUser, externalId: 'again' },
        { ...newUser, externalId: 'again' },
      ],
      linkAccounts: [
        { ...account, platformAccountId: '1', id: 'given' },
        { ...account, platformAccountId: '2', id: 'given' },
      ],
      syncProfiles: [{ accountId: other?.id }, { accountId: other?.id }],
      createJobs: [
        { jobType: 'a', idempotencyKey: 'key' },
        { jobType: 'b', idempotencyKey: 'key' },
      ],
      unlinkAccounts: [{ id: other?.id }, { id: other?.id }],
      deleteUsers: [{ id: one?.userId }, { id: one?.userId }],
    }
    for (const [name, inputs] of Object.entries(cases)) {
      const results = await bulk(name, inputs)
      const [field = ''] = Object.keys(inputs[0] ?? {}).filter((key) =>
        /^(id|externalId|accountId|idempotencyKey)$/.test(key),
      )
      const error = { code: 'DUPLICATE', field: ['inputs', '1', field], message: `must differ from inputs.0.${field}` }
      expect([name, results]).toEqual([name, [{ userErrors: [] }, { userErrors: [error] }]])
    }
    const same = { ...account, userId: other?.userId, platformAccountId: 'same' }
    expect(await bulk('linkAccounts', [same, { ...same, userId: 'nobody', id: 'another' }])).toMatchObject([
      { userErrors: [] },
      { userErrors: [{ code: 'DUPLICATE', field: ['inputs', '1', 'platformAccountId'] }] },
    ])
    // An invalid input does not stop a valid one with the same id.
    const results = await bulk('updateUsers', [
      { id: other?.userId, name: ' ' },
      { id: other?.userId, name: 'Ada' },
    ])
    expect(results).toMatchObject([{ userErrors: [{ code: 'REQUIRED' }] }, { userErrors: [] }])
  })

  it('rejects more than 100 inputs, says so, and writes nothing', async () => {
    const { errors } = await bulk.send(
      'createUsers',
      Array.from({ length: 101 }, () => ({ ...newUser, name: 'Too many' })),
    )
    const message = 'Invalid input: inputs must have at most 100 entries.'
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }])
    expect(await app.database.prisma.user.count({ where: { name: 'Too many' } })).toBe(0)
    expect(await app.statementsOf(async () => expect(await bulk('createUsers', [])).toEqual([]))).toEqual([])
  })

  it.each([
    ['createUsers', newUser, 'user { id }', 1],
    ['updateUsers', { id: 'nobody' }, 'user { accounts { id } }', 6],
    ['deleteUsers', { id: 'nobody' }, 'deletedUserId', 1],
  ] as const)('costs what its single mutation costs for each input: %s', async (name, input, selected, cost) => {
    const single = name.replace(/s$/, '')
    const type = `${single.charAt(0).toUpperCase()}${single.slice(1)}Input`
    const query = `mutation ($input: ${type}!) { ${single}(input: $input) { ${selected} } }`
    const costOf = (response: object) =>
      (response as { extensions: { cost: { requested: number } } }).extensions.cost.requested
    expect(costOf(await app.graphql(tenant, query, { input }))).toBe(cost)
    for (const size of [1, 40, 100]) {
      const inputs = Array.from({ length: size }, () => input)
      expect(costOf(await bulk.send(name, inputs, selected))).toBe(size * cost)
    }
    // GraphQL reads a value that is no list as a list of one.
    expect(costOf(await bulk.send(name, input as never, selected))).toBe(cost)
  })

  it('writes nothing if a statement fails', async () => {
    const { account, profile } = await createOneOfEach(app, tenant)
    await app.database.runAsOwner('ALTER TABLE email_record RENAME TO elsewhere')
    try {
      const { errors } = await bulk.send('syncProfiles', [{ accountId: account.id, username: 'changed', emails }])
      expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL' } }])
    } finally {
      await app.database.runAsOwner('ALTER TABLE elsewhere RENAME TO email_record')
    }
    const stored = await app.database.prisma.profile.findFirst({ where: { id: profile.id } })
    expect(stored).toEqual(profile)
  })

  it('changes the same users in opposite orders at the same time', async () => {
    const users = (await createAccounts(30)).map(({ userId }) => ({ id: userId, name: 'Ada' }))
    const both = await Promise.all([bulk('updateUsers', users), bulk('updateUsers', users.toReversed())])
    expect(both.flat()).toEqual(Array.from({ length: 60 }, () => ({ userErrors: [] })))
  })
})

describe('createUsers', () => {
  it('creates users in the order of the inputs', async () => {
    const other = await app.createTenant()
    const names = ['C', 'A', 'D', 'B']
    const inputs = names.map((name) => ({ ...newUser, name: ` ${name} ` }))
    const results = await createBulk(app, other)('createUsers', inputs, 'user { name tenantAppId }')
    expect(results.map(({ user }) => user)).toEqual(names.map((name) => ({ name, tenantAppId: other.tenantAppId })))
    const { data } = await app.graphql(other, '{ users { nodes { name } } }')
    expect(data['users']).toEqual({ nodes: names.map((name) => ({ name })) })
  })
})

describe('updateUsers', () => {
  it('changes only the given fields of each user', async () => {
    const create = factoriesFor(app, tenant)
    const users = [await create.user({ phone: '1' }), await create.user({ phone: '2' }), await create.user()]
    const [a, b, c] = users.map(({ id }) => id)
    const results = await bulk(
      'updateUsers',
      [{ id: a, name: 'New' }, { id: b, phone: null, email: 'new@example.com' }, { id: c }],
      'user { name email phone updatedAt }',
    )
    expect(results.map(({ user }) => user)).toMatchObject([
      { name: 'New', email: users[0]?.email, phone: '1' },
      { name: users[1]?.name, email: 'new@example.com', phone: null },
      { name: users[2]?.name, updatedAt: users[2]?.updatedAt.toISOString() },
    ])
  })
})

describe('linkAccounts', () => {
  it('links some accounts, and returns or rejects those that exist', async () => {
    const [one, other] = await createAccounts(2)
    const of = ({ platform, platformAccountId }: { platform: string; platformAccountId: string }) => {
      return { platform, platformAccountId, displayName: 'Again' }
    }
    const fresh = { platform: 'TWITCH', displayName: 'New', status: 'EXPIRED' }
    const results = await bulk(
      'linkAccounts',
      [
        { userId: one?.userId, ...fresh, platformAccountId: 'fresh-1' },
        { userId: one?.userId, ...of(one as never) },
        { userId: one?.userId, ...of(other as never) },
        { userId: one?.userId, ...fresh, platformAccountId: 'fresh-2', id: other?.id },
        { userId: 'nobody', ...fresh, platformAccountId: 'fresh-3' },
      ],
      'account { displayName status user { id } }',
    )
    const user = { id: one?.userId }
    expect(results).toMatchObject([
      { account: { displayName: 'New', status: 'EXPIRED', user } },
      { account: { displayName: one?.displayName, status: 'CONNECTED', user } },
      { account: null, userErrors: [{ code: 'CONFLICT', field: ['inputs', '2', 'platformAccountId'] }] },
      { account: null, userErrors: [{ code: 'CONFLICT', field: ['inputs', '3', 'id'] }] },
      { account: null, userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '4', 'userId'] }] },
    ])
  })
})

describe('syncProfiles', () => {
  it('keeps absent fields, clears those that are null, and replaces lists, for each profile', async () => {
    const [fresh, kept, cleared] = await createAccounts(3)
    const full = {
      username: 'ada',
      dateOfBirth: '1990-05-17',
      followersCount: 9007199254740991,
      watchTimeInHours: 0.5,
      phoneNumbers: [{ b: 'ü"\\', a: [1, null] }],
      verified: false,
      joinedAt: '2020-01-01T00:00:00.123Z',
      unsupportedFields: ['gender', 'country'],
      emails: [{ value: 'a@b', type: 'work' }, { value: 'a@b' }],
    }
    const selected =
      'profile { username dateOfBirth followersCount watchTimeInHours phoneNumbers addresses verified joinedAt unsupportedFields emails { id value type isPrimary } }'
    const before = await bulk(
      'syncProfiles',
      [kept, cleared].map((account) => ({ accountId: account?.id, ...full })),
      selected,
    )
    expect(before[0]?.['profile']).toMatchObject({ ...full, addresses: [] })
    const none = Object.fromEntries(Object.keys(full).map((field) => [field, null]))
    const after = await bulk(
      'syncProfiles',
      [
        { accountId: fresh?.id, country: 'DE' },
        { accountId: kept?.id, username: 'lovelace', emails: [{ value: 'a@b', isPrimary: true }, { value: 'c@d' }] },
        { accountId: 'nobody' },
        { accountId: cleared?.id, ...none },
      ],
      selected,
    )
    const empty = { phoneNumbers: [], unsupportedFields: [], emails: [] }
    const [, unnamed] = (before[0]?.['profile'] as { emails: { id: string }[] } | undefined)?.emails ?? []
    expect(after).toMatchObject([
      { profile: { ...none, ...empty, addresses: [] } },
      { profile: { ...full, username: 'lovelace', emails: [{ id: unnamed?.id, isPrimary: true }, { value: 'c@d' }] } },
      { profile: null, userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '2', 'accountId'] }] },
      { profile: { ...none, ...empty } },
    ])
  })
})

describe('createJobs', () => {
  it('creates jobs in the order of the inputs, and returns or rejects those whose keys were used', async () => {
    const [first] = await bulk('createJobs', [{ jobType: 'a', idempotencyKey: 'used' }], 'job { id }')
    const results = await bulk(
      'createJobs',
      [
        { jobType: 'b', payload: { text: '{"a":\\"}' }, maxAttempts: 7, runAt: '2100-01-01T00:00:00.000Z' },
        { jobType: 'a', idempotencyKey: 'used' },
        { jobType: 'c', idempotencyKey: 'used-for-another' },
        { jobType: 'd d' },
      ],
      'job { id jobType payload maxAttempts runAt }',
    )
    expect(results).toMatchObject([
      {
        job: { jobType: 'b', payload: { text: '{"a":\\"}' }, maxAttempts: 7, runAt: '2100-01-01T00:00:00.000Z' },
      },
      { job: first?.['job'] },
      { job: { jobType: 'c' } },
      { job: null, userErrors: [{ code: 'INVALID_FORMAT', field: ['inputs', '3', 'jobType'] }] },
    ])
    const again = await bulk('createJobs', [{ jobType: 'a', payload: {}, idempotencyKey: 'used' }])
    expect(again).toMatchObject([{ userErrors: [{ code: 'CONFLICT', field: ['inputs', '0', 'idempotencyKey'] }] }])
  })
})
