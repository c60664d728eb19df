import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createBulk } from '../support/bulk.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant
let bulk: ReturnType<typeof createBulk>

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tenant = await app.createTenant()
  other = await app.createTenant()
  bulk = createBulk(app, tenant)
})

const ada = { name: 'Ada', email: 'ada@example.com', phone: '1' }
const fields = 'user { id name phone externalId metadata } userErrors { code field message }'

interface Payload {
  readonly user: { readonly id: string } | null
  readonly created?: boolean
  readonly userErrors: readonly object[]
}

async function write(name: string, input: object, as: TestTenant = tenant): Promise<Payload> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const { data, errors } = await app.graphql<Record<string, Payload>>(
    as,
    `mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} ${name === 'upsertUser' ? 'created' : ''} } }`,
    { input },
  )
  expect(errors).toBeUndefined()
  return data[name] as Payload
}

const idOf = (payload: Payload) => String(payload.user?.id)

async function find(externalId: string, as: TestTenant = tenant) {
  const query = 'query ($externalId: String!) { userByExternalId(externalId: $externalId) { id metadata } }'
  const { data, errors } = await app.graphql<{ userByExternalId: unknown }>(as, query, { externalId })
  expect(errors).toBeUndefined()
  return data.userByExternalId
}

async function list(filter: object, as: TestTenant = tenant) {
  const query = 'query ($filter: UserFilter) { users(filter: $filter) { nodes { externalId } totalCount } }'
  const { data, errors } = await app.graphql<{ users: { nodes: { externalId: string }[]; totalCount: number } }>(
    as,
    query,
    { filter },
  )
  expect(errors).toBeUndefined()
  expect(data.users.totalCount).toBe(data.users.nodes.length)
  return data.users.nodes.map(({ externalId }) => externalId)
}

async function tokenFor(userId: string): Promise<TestTenant> {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId, scopes: ['users:read', 'users:write', 'contacts:read'] } },
  )
  return { ...tenant, token: data.createAccessToken.accessToken } as TestTenant
}

describe('an external id', () => {
  it('is given, read, changed, cleared and given again', async () => {
    const metadata = { plan: 'pro', z: 1, a: [null, { b: 'ü' }] }
    const created = await write('createUser', { ...ada, externalId: 'crm-1', metadata })
    expect(created).toMatchObject({ user: { externalId: 'crm-1', metadata }, userErrors: [] })
    const id = idOf(created)
    expect(await find('crm-1')).toEqual({ id, metadata })
    // json, and not jsonb: the keys keep their order.
    expect(JSON.stringify(await find('crm-1'))).toContain(JSON.stringify(metadata))
    expect(await write('updateUser', { id, externalId: 'crm-2' })).toMatchObject({
      user: { externalId: 'crm-2', metadata },
    })
    expect(await find('crm-1')).toBeNull()
    expect(await write('updateUser', { id, name: 'Grace' })).toMatchObject({ user: { externalId: 'crm-2', metadata } })
    expect(await write('updateUser', { id, externalId: null, metadata: null })).toMatchObject({
      user: { externalId: null, metadata: null, name: 'Grace' },
    })
    expect(await find('crm-2')).toBeNull()
    expect((await write('createUser', { ...ada, externalId: 'crm-2' })).userErrors).toEqual([])
  })

  it('is taken by one of many requests at the same time, which write the rest of their inputs', async () => {
    const users = await Promise.all(Array.from({ length: 12 }, () => factoriesFor(app, tenant).user()))
    const pairs = Array.from({ length: 6 }, (_, index) => users.slice(index * 2, index * 2 + 2).map(({ id }) => id))
    const results = await Promise.all(
      pairs.map(([one = '', another = '']) =>
        bulk('updateUsers', [
          { id: one, externalId: 'contested' },
          { id: another, name: 'written' },
        ]),
      ),
    )
    const conflict = { userErrors: [{ code: 'CONFLICT', field: ['inputs', '0', 'externalId'] }] }
    const refused = results.filter(([first]) => JSON.stringify(first) !== '{"userErrors":[]}')
    expect(refused).toHaveLength(5)
    for (const [first, second] of refused) expect([first, second]).toMatchObject([conflict, { userErrors: [] }])
    const { id } = (await find('contested')) as { id: string }
    expect(pairs.map(([one]) => one)).toContain(id)
    expect(await app.database.prisma.user.count({ where: { name: 'written' } })).toBe(6)
  })

  it('is unique in a tenant, and unknown in others', async () => {
    const conflict = { code: 'CONFLICT', message: 'is that of another user' }
    const first = await write('createUser', { ...ada, externalId: 'same' })
    expect(await find('same', other)).toBeNull()
    expect(await list({ externalIds: ['same'] }, other)).toEqual([])
    const foreign = await write('createUser', { ...ada, externalId: 'same' }, other)
    expect(foreign.userErrors).toEqual([])
    expect(await find('same', other)).toMatchObject({ id: idOf(foreign) })
    expect(await write('createUser', { ...ada, externalId: 'same' })).toEqual({
      user: null,
      userErrors: [{ ...conflict, field: ['externalId'] }],
    })
    const { id } = await factoriesFor(app, tenant).user()
    expect(await write('updateUser', { id, externalId: 'same' })).toEqual({
      user: null,
      userErrors: [{ ...conflict, field: ['externalId'] }],
    })
    // Its own is not taken.
    expect((await write('updateUser', { id: idOf(first), externalId: 'same' })).userErrors).toEqual([])
    const outcomes = await bulk('createUsers', [{ ...ada, externalId: 'new' }, { ...ada, externalId: 'same' }, ada])
    expect(outcomes).toEqual([
      { userErrors: [] },
      { userErrors: [{ ...conflict, field: ['inputs', '1', 'externalId'] }] },
      { userErrors: [] },
    ])
    const changed = await bulk('updateUsers', [
      { id, externalId: 'same', name: 'not written' },
      { id: idOf(first), name: 'written' },
      { id: 'nobody', externalId: 'free' },
    ])
    expect(changed).toMatchObject([
      { userErrors: [{ ...conflict, field: ['inputs', '0', 'externalId'] }] },
      { userErrors: [] },
      { userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '2', 'id'] }] },
    ])
    const names = await app.database.prisma.user.findMany({ where: { id: { in: [id, idOf(first)] } } })
    expect(names.map(({ name }) => name)).toContain('written')
    expect(names.map(({ name }) => name)).not.toContain('not written')
  })

  it.each([
    [{ externalId: '' }, 'REQUIRED', 'externalId'],
    [{ externalId: '𝒜'.repeat(201) }, 'TOO_LONG', 'externalId'],
    [{ externalId: 'a\0b' }, 'INVALID_FORMAT', 'externalId'],
    [{ metadata: { text: 'x'.repeat(16 * 1024) } }, 'TOO_LONG', 'metadata'],
    [{ metadata: { a: ['x\0'] } }, 'INVALID_FORMAT', 'metadata'],
    [{ metadata: { '\ud800': 1 } }, 'INVALID_FORMAT', 'metadata'],
  ])('is checked like metadata: %j', async (given, code, field) => {
    for (const [name, input] of [
      ['createUser', { ...ada, ...given }],
      ['updateUser', { id: 'usr_1', ...given }],
      ['upsertUser', { ...ada, externalId: 'x', ...given }],
    ] as const)
      expect([name, await write(name, input)]).toMatchObject([
        name,
        { user: null, userErrors: [{ code, field: [field] }] },
      ])
  })

  it('has 200 characters and metadata 16 KiB at most', async () => {
    const metadata = { text: 'x'.repeat(16 * 1024 - '{"text":""}'.length) }
    const given = { externalId: '𝒜'.repeat(200), metadata }
    expect(await write('createUser', { ...ada, ...given })).toMatchObject({ user: given, userErrors: [] })
    for (const impossible of ['', 'x'.repeat(201), 'a\0b']) {
      expect(await app.statementsOf(async () => expect(await find(impossible)).toBeNull())).toEqual([])
    }
  })

  it('and metadata are set by keys of the tenant, and read by the user of a token', async () => {
    const mine = await write('createUser', { ...ada, externalId: 'mine', metadata: { plan: 'free' } })
    await write('createUser', { ...ada, externalId: 'theirs', metadata: { plan: 'free' } })
    const token = await tokenFor(idOf(mine))
    expect(await find('mine', token)).toEqual({ id: idOf(mine), metadata: { plan: 'free' } })
    expect(await find('theirs', token)).toBeNull()
    expect(await list({ externalIds: ['mine', 'theirs'] }, token)).toEqual(['mine'])
    expect(await list({ metadata: [{ key: 'plan', value: 'free' }] }, token)).toEqual(['mine'])
    for (const [name, input] of [
      ['updateUser', { id: idOf(mine), metadata: { plan: 'pro' } }],
      ['updateUser', { id: idOf(mine), externalId: 'theirs' }],
      ['upsertUser', { ...ada, externalId: 'mine' }],
    ] as const) {
      const type = name === 'updateUser' ? 'UpdateUserInput' : 'UpsertUserInput'
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) { userErrors { code } } }`
      const { errors } = await app.graphql(token, query, { input })
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    }
    expect((await write('updateUser', { id: idOf(mine), name: 'Grace' }, token)).userErrors).toEqual([])
    const link = (input: object) =>
      app.graphql<{ linkAccount: Payload }>(
        token,
        'mutation ($input: LinkAccountInput!) { linkAccount(input: $input) { userErrors { code field } } }',
        { input: { platform: 'X', platformAccountId: '1', displayName: 'x', ...input } },
      )
    expect((await link({ userExternalId: 'theirs' })).data.linkAccount.userErrors).toEqual([
      { code: 'NOT_FOUND', field: ['userExternalId'] },
    ])
    expect((await link({ userExternalId: 'mine' })).data.linkAccount.userErrors).toEqual([])
  })
})

describe('upsertUsers', () => {
  it('creates and changes users, says which, and rejects one that it cannot create', async () => {
    const known = await write('createUser', { ...ada, externalId: 'known', metadata: { plan: 'free' } })
    const before = await app.database.prisma.user.findFirstOrThrow({ where: { id: idOf(known) } })
    const results = await bulk(
      'upsertUsers',
      [
        { externalId: 'new', name: 'New', email: 'new@example.com', phone: '2', metadata: { a: 1 } },
        { externalId: 'known', name: 'Changed' },
        { externalId: 'incomplete', name: 'x' },
        { externalId: 'without a phone', name: 'x', email: 'x@example.com', phone: null },
        { externalId: 'new', name: 'Again' },
        { externalId: ' ', email: 'x', name: null },
      ],
      'created user { id externalId name phone metadata }',
    )
    const required = (input: string, field: string) => ({
      code: 'REQUIRED',
      field: ['inputs', input, field],
      message: 'is required, because no user has this externalId yet',
    })
    expect(results).toMatchObject([
      { created: true, user: { externalId: 'new', name: 'New', phone: '2', metadata: { a: 1 } }, userErrors: [] },
      { created: false, user: { id: idOf(known), name: 'Changed', phone: '1', metadata: { plan: 'free' } } },
      { created: null, user: null, userErrors: [required('2', 'email'), required('2', 'phone')] },
      { created: null, user: null, userErrors: [required('3', 'phone')] },
      { created: null, user: null, userErrors: [{ code: 'DUPLICATE', field: ['inputs', '4', 'externalId'] }] },
      {
        user: null,
        userErrors: [
          { code: 'REQUIRED', field: ['inputs', '5', 'externalId'] },
          { code: 'REQUIRED', field: ['inputs', '5', 'name'] },
          { code: 'INVALID_FORMAT', field: ['inputs', '5', 'email'] },
        ],
      },
    ])
    const after = await app.database.prisma.user.findFirstOrThrow({ where: { id: idOf(known) } })
    expect(after.createdAt).toEqual(before.createdAt)
    expect(after.updatedAt > before.updatedAt).toBe(true)
    // The same again changes nothing.
    expect(await write('upsertUser', { externalId: 'known', name: 'Changed' })).toMatchObject({ created: false })
    expect((await app.database.prisma.user.findFirstOrThrow({ where: { id: after.id } })).updatedAt).toEqual(
      after.updatedAt,
    )
    expect(await write('upsertUser', { externalId: 'known', phone: null, metadata: null })).toMatchObject({
      user: { name: 'Changed', phone: null, metadata: null },
    })
  })

  it('leaves the user of another tenant with the same external id as it is', async () => {
    const foreign = await write('createUser', { ...ada, externalId: 'shared' }, other)
    const own = await write('upsertUser', { ...ada, externalId: 'shared', name: 'Mine' })
    expect(own).toMatchObject({ created: true, user: { name: 'Mine' } })
    expect(idOf(own)).not.toBe(idOf(foreign))
    const row = await app.database.prisma.user.findFirstOrThrow({ where: { id: idOf(foreign) } })
    expect(row.name).toBe('Ada')
  })

  it('creates one user for simultaneous calls', async () => {
    const inputs = [1, 2, 3, 4].map((number) => ({ ...ada, externalId: 'race', name: `Name ${number}` }))
    const results = await Promise.all(inputs.map((input) => write('upsertUser', input)))
    expect(new Set(results.map(idOf)).size).toBe(1)
    expect(results.filter(({ created }) => created)).toHaveLength(1)
  })
})

describe('users with metadata', () => {
  const conditions = (values: object) => Object.entries(values).map(([key, value]) => ({ key, value }))

  beforeEach(async () => {
    const users = [
      { externalId: 'a', metadata: { plan: 'pro', seats: 5, active: true } },
      { externalId: 'b', metadata: { plan: 'pro', seats: 6, nested: { plan: 'free' }, tags: ['free'] } },
      { externalId: 'c', metadata: { plan: 'free', seats: '5', active: false } },
      { externalId: 'd' },
    ]
    expect(
      await bulk(
        'createUsers',
        users.map((user) => ({ ...ada, ...user })),
      ),
    ).toHaveLength(4)
    await write('createUser', { ...ada, externalId: 'a', metadata: { plan: 'pro' } }, other)
  })

  it.each([
    [{ plan: 'pro' }, ['a', 'b']],
    [{ plan: 'pro', seats: 5 }, ['a']],
    [{ seats: '5' }, ['c']],
    [{ active: false }, ['c']],
    [{ tags: 'free' }, []],
    [{ plan: 'none' }, []],
    [{}, ['a', 'b', 'c', 'd']],
  ])('are those whose values equal %j', async (values, expected) => {
    expect((await list({ metadata: conditions(values) })).toSorted()).toEqual(expected)
  })

  it('can be combined with other conditions', async () => {
    const pro = { metadata: conditions({ plan: 'pro' }) }
    expect(await list({ not: pro })).toEqual(['c', 'd'])
    expect(await list({ or: [pro, { externalIds: ['d'] }] })).toHaveLength(3)
    expect(await list({ ...pro, externalIds: ['b', 'c'] })).toEqual(['b'])
    expect(await list({ metadataIsNull: true })).toEqual(['d'])
    expect(await list({ externalIdIsNull: true })).toEqual([])
    const same = [...conditions({ plan: 'pro' }), ...conditions({ plan: 'free' })]
    expect(await list({ metadata: same })).toEqual([])
  })

  it('are found by accounts and profiles too', async () => {
    const { id } = (await find('a')) as { id: string }
    const make = factoriesFor(app, tenant)
    const account = await make.account(id)
    await make.profile(account)
    await make.profile(await make.account(((await find('c')) as { id: string }).id))
    const user = { metadata: conditions({ plan: 'pro' }), externalIds: ['a', 'c'] }
    const { data } = await app.graphql<{ accounts: { nodes: object[] }; searchProfiles: { nodes: object[] } }>(
      tenant,
      `query ($user: UserFilter) {
        accounts(filter: { user: $user }) { nodes { id } }
        searchProfiles(filter: { account: { user: $user } }) { nodes { accountId } } }`,
      { user },
    )
    expect(data.accounts.nodes).toEqual([{ id: account.id }])
    expect(data.searchProfiles.nodes).toEqual([{ accountId: account.id }])
  })

  it.each([
    [
      conditions(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`k${index}`, 1]))),
      'at most 20 conditions',
    ],
    [[{ key: '', value: 1 }], 'must not be blank'],
    [[{ key: 'x'.repeat(201), value: 1 }], 'at most 200 characters'],
    [[{ key: 'plan', value: 'x'.repeat(501) }], 'at most 500 characters'],
    [[{ key: 'plan', value: 'a\0b' }], 'NUL characters'],
    [[{ key: 'plan', value: {} }], 'must be a text, a number, true or false'],
  ])('are not asked for by %j', async (metadata, message) => {
    const query = 'query ($filter: UserFilter) { users(filter: $filter) { nodes { id } } }'
    const { errors } = await app.graphql(tenant, query, { filter: { metadata } })
    expect(errors).toMatchObject([{ message: expect.stringContaining(message) }])
  })
})

describe('linkAccount', () => {
  const account = { platform: 'X', platformAccountId: '1', displayName: 'x' }
  const link = async (...inputs: object[]) =>
    bulk(
      'linkAccounts',
      inputs.map((input) => ({ ...account, ...input })),
      'account { user { id } }',
    )

  it('links accounts to the users that external ids name', async () => {
    const { id } = await factoriesFor(app, tenant).user({ externalId: 'crm-1' })
    await factoriesFor(app, other).user({ externalId: 'crm-2' })
    expect(
      await link(
        { userExternalId: 'crm-1' },
        { userExternalId: 'crm-2', platformAccountId: '2' },
        { userId: id, platformAccountId: '3' },
      ),
    ).toMatchObject([
      { account: { user: { id } }, userErrors: [] },
      { account: null, userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '1', 'userExternalId'] }] },
      { account: { user: { id } }, userErrors: [] },
    ])
    // The account stays linked to the user.
    await write('updateUser', { id, externalId: 'renamed' })
    expect(await link({ userExternalId: 'renamed' })).toMatchObject([{ account: { user: { id } }, userErrors: [] }])
  })

  it('needs one of userId and userExternalId, and not both', async () => {
    const message = 'or userExternalId must be given, and not both'
    expect(
      await link(
        {},
        { userId: 'usr_1', userExternalId: 'x', platformAccountId: '2' },
        { userExternalId: '', platformAccountId: '3' },
      ),
    ).toMatchObject([
      { userErrors: [{ code: 'REQUIRED', field: ['inputs', '0', 'userId'], message }] },
      { userErrors: [{ code: 'CONFLICT', field: ['inputs', '1', 'userExternalId'] }] },
      { userErrors: [{ code: 'REQUIRED', field: ['inputs', '2', 'userExternalId'] }] },
    ])
  })
})

describe('REST', () => {
  const rest = async (method: string, url: string, body?: unknown) => {
    const response = await app.rest(tenant, method, url, body)
    return { status: response.statusCode, body: response.json() }
  }

  it('has the external id and metadata where they are set', async () => {
    const plain = await rest('POST', '/users', ada)
    expect(plain.body).not.toHaveProperty('external_id')
    expect(plain.body).not.toHaveProperty('metadata')
    const url = `/users/${plain.body.id}`
    expect((await rest('GET', url)).body).not.toHaveProperty('external_id')
    const given = { external_id: 'crm-1', metadata: { plan: 'pro' } }
    expect(await rest('PUT', url, given)).toMatchObject({ status: 200, body: given })
    expect((await rest('GET', url)).body).toMatchObject(given)
    expect((await rest('PUT', url, { name: 'Grace' })).body).toMatchObject(given)
    expect(await rest('POST', '/users', { ...ada, ...given })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'external_id', code: 'CONFLICT' }] },
    })
    expect(await rest('PUT', url, { external_id: 'x'.repeat(201) })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'external_id', code: 'TOO_LONG' }] },
    })
    const cleared = await rest('PUT', url, { external_id: null, metadata: null })
    expect(cleared.body).not.toHaveProperty('external_id')
    expect(cleared.body).not.toHaveProperty('metadata')
  })

  it('lists the users with external ids', async () => {
    const make = factoriesFor(app, tenant)
    const [one, two] = [await make.user({ externalId: 'a,b' }), await make.user({ externalId: 'c' })]
    await make.user()
    await factoriesFor(app, other).user({ externalId: 'd' })
    const idsOf = async (query: string) =>
      (await rest('GET', `/users${query}`)).body.users.map(({ id }: { id: string }) => id)
    expect(await idsOf('?external_id=a,b')).toEqual([one.id])
    expect(await idsOf('?external_id=a,b&external_id=c')).toEqual([one.id, two.id])
    expect(await idsOf('?external_id=d')).toEqual([])
    expect(await idsOf('')).toHaveLength(3)
    const page = await app.rest(tenant, 'GET', '/users?external_id=a,b&external_id=c&limit=1')
    const next = /<([^>]*)>; rel="next"/.exec(String(page.headers['link']))?.[1] ?? ''
    expect(await idsOf(next.slice('/users'.length))).toEqual([two.id])
    expect(await rest('GET', `/users?external_id=${'x'.repeat(501)}`)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'external_id' }] },
    })
  })
})
