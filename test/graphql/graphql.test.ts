import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

describe('a query', () => {
  it('returns user → accounts → profile → emails and back', async () => {
    const { user, account, profile, email } = await createOneOfEach(app, tenant)
    const { data, errors } = await app.graphql(
      tenant,
      `query ($id: ID!) {
        user(id: $id) {
          id createdAt updatedAt name email phone tenantAppId
          accounts {
            id platform platformAccountId displayName user { id }
            profile { id username account { id } emails { id value type isVerified isPrimary profileId profile { id } } }
          }
        }
      }`,
      { id: user.id },
    )
    expect(errors).toBeUndefined()
    expect(data['user']).toEqual({
      id: user.id,
      createdAt: user.createdAt.toISOString(),
      updatedAt: user.updatedAt.toISOString(),
      name: user.name,
      email: user.email,
      phone: user.phone,
      tenantAppId: tenant.tenantAppId,
      accounts: [
        {
          id: account.id,
          platform: account.platform,
          platformAccountId: account.platformAccountId,
          displayName: account.displayName,
          user: { id: user.id },
          profile: {
            id: profile.id,
            username: null,
            account: { id: account.id },
            emails: [
              {
                id: email.id,
                value: email.value,
                type: 'work',
                isVerified: false,
                isPrimary: false,
                profileId: profile.id,
                profile: { id: profile.id },
              },
            ],
          },
        },
      ],
    })
  })

  it('returns the viewer', async () => {
    const { data } = await app.graphql(tenant, '{ viewer { tenantApp { id name } keyName scopes } }')
    expect(data['viewer']).toMatchObject({
      tenantApp: { id: tenant.tenantAppId, name: tenant.name },
      keyName: `key of ${tenant.name}`,
      scopes: expect.arrayContaining(['users:read', 'jobs:work']),
    })
  })

  it('returns rows of every type by node and nodes, and null for missing ids', async () => {
    const { user, account, profile, email, job } = await createOneOfEach(app, tenant)
    const ids = [user.id, account.id, profile.id, email.id, job.id, 'nobody', '']
    const { data } = await app.graphql<{ node: unknown; nodes: unknown[] }>(
      tenant,
      'query ($id: ID!, $ids: [ID!]!) { node(id: $id) { __typename id } nodes(ids: $ids) { __typename id } }',
      { id: job.id, ids },
    )
    expect(data.node).toEqual({ __typename: 'Job', id: job.id })
    expect(data.nodes).toEqual([
      { __typename: 'User', id: user.id },
      { __typename: 'Account', id: account.id },
      { __typename: 'Profile', id: profile.id },
      { __typename: 'EmailRecord', id: email.id },
      { __typename: 'Job', id: job.id },
      null,
      null,
    ])
  })

  it('finds rows with imported ids, even if an id has the prefix of another type', async () => {
    const create = factoriesFor(app, tenant)
    const user = await create.user({ id: 'legacy 42' })
    const account = await create.account(user.id, { id: 'usr_imported' })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }'
    const { data } = await app.graphql(tenant, query, { ids: [user.id, account.id] })
    expect(data['nodes']).toEqual([
      { __typename: 'User', id: 'legacy 42' },
      { __typename: 'Account', id: 'usr_imported' },
    ])
  })

  it('returns, of rows with the same id, the one of the type whose prefix it has, and otherwise in a described order', async () => {
    const create = factoriesFor(app, tenant)
    const types = ['User', 'Account', 'Profile', 'EmailRecord', 'Job']
    /** Creates a row of each type, of which those of the types from one on have the id. */
    async function createFrom(first: number, id: string) {
      const given = (type: string) => (types.indexOf(type) >= first ? { id } : {})
      const user = await create.user(given('User'))
      const account = await create.account(user.id, given('Account'))
      const profile = await create.profile(account, given('Profile'))
      await create.email(profile.id, given('EmailRecord'))
      await create.job(given('Job'))
      return id
    }
    const ids = await Promise.all(types.map((_, first) => createFrom(first, `same_${first}`)))
    ids.push(await createFrom(0, 'prf_same'), await createFrom(0, 'job_same'))
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }'
    const { data } = await app.graphql<{ nodes: { __typename: string }[] }>(tenant, query, { ids })
    expect(data.nodes.map(({ __typename }) => __typename)).toEqual([...types, 'Profile', 'Job'])
  })

  it('returns profiles in the requested order, without duplicates and unknown ids', async () => {
    const create = factoriesFor(app, tenant)
    const { id: userId } = await create.user()
    const [one, two] = [await create.account(userId), await create.account(userId)]
    const [first, second] = [await create.profile(one), await create.profile(two)]
    const query = 'query ($ids: [ID!]!) { profiles(accountIds: $ids) { id } }'
    const { data } = await app.graphql(tenant, query, { ids: [two.id, 'unknown', one.id, two.id] })
    expect(data['profiles']).toEqual([{ id: second.id }, { id: first.id }])
  })

  it.each([
    ['profiles(accountIds: $ids) { id }', 'accountIds'],
    ['nodes(ids: $ids) { id }', 'ids'],
  ])('accepts at most 500 ids in %s', async (field, name) => {
    const ids = Array.from({ length: 501 }, (_, index) => `${index}`)
    const query = `query ($ids: [ID!]!) { ${field} }`
    expect((await app.graphql(tenant, query, { ids: ids.slice(1) })).errors).toBeUndefined()
    const { errors } = await app.graphql(tenant, query, { ids })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', fields: [{ field: name }] })
  })
})

describe('a mutation', () => {
  const createUser = `mutation ($input: CreateUserInput!) {
    createUser(input: $input) { user { id name accounts { id } } userErrors { code message field } }
  }`
  const updateUser = `mutation ($input: UpdateUserInput!) {
    updateUser(input: $input) { user { id name email phone } userErrors { code message field } }
  }`

  it('creates a user', async () => {
    const input = { name: ' Ada ', email: 'ada@example.com', phone: '1' }
    const { data } = await app.graphql<{ createUser: { user: { id: string } } }>(tenant, createUser, { input })
    expect(data.createUser).toEqual({
      user: { id: expect.stringMatching(/^usr_/), name: 'Ada', accounts: [] },
      userErrors: [],
    })
  })

  it('returns the errors of all invalid fields as data, and writes nothing', async () => {
    const before = await app.database.prisma.user.count()
    const { data } = await app.graphql(tenant, createUser, { input: { name: ' ', email: 'x', phone: '1'.repeat(65) } })
    expect(data['createUser']).toEqual({
      user: null,
      userErrors: [
        { code: 'REQUIRED', message: 'must not be blank', field: ['name'] },
        { code: 'INVALID_FORMAT', message: 'must be an email address, such as ada@example.com', field: ['email'] },
        { code: 'TOO_LONG', message: 'must have at most 64 characters', field: ['phone'] },
      ],
    })
    expect(await app.database.prisma.user.count()).toBe(before)
  })

  it('updates a user, and reports NOT_FOUND for a missing id', async () => {
    const { id } = await factoriesFor(app, tenant).user({ phone: '1' })
    const changed = await app.graphql(tenant, updateUser, { input: { id, name: 'New', phone: null } })
    expect(changed.data['updateUser']).toMatchObject({ user: { id, name: 'New', phone: null }, userErrors: [] })
    const missing = await app.graphql(tenant, updateUser, { input: { id: 'nobody', name: 'New' } })
    expect(missing.data['updateUser']).toMatchObject({ user: null, userErrors: [{ code: 'NOT_FOUND', field: ['id'] }] })
  })

  it('returns its own changes after an earlier mutation in the same request', async () => {
    const create = factoriesFor(app, tenant)
    const user = await create.user({ name: 'Old' })
    await create.account(user.id)
    const fields = 'user { accounts { user { name } } }'
    const { data } = await app.graphql<Record<string, { user: { accounts: { user: { name: string } }[] } }>>(
      tenant,
      `mutation ($id: ID!) {
        a: updateUser(input: { id: $id, name: "One" }) { ${fields} }
        b: updateUser(input: { id: $id, name: "Two" }) { ${fields} }
      }`,
      { id: user.id },
    )
    expect(data['a']?.user.accounts[0]?.user.name).toBe('One')
    expect(data['b']?.user.accounts[0]?.user.name).toBe('Two')
  })
})

describe('an error', () => {
  it('has the code BAD_USER_INPUT for an invalid operation, and shows no internals', async () => {
    for (const query of [
      '{',
      '{ nothing }',
      '{ user { id } }',
      'query ($n: Int!) { users(first: $n) { nodes { id } } }',
    ]) {
      const { errors } = await app.graphql(tenant, query)
      expect(errors?.[0]?.extensions, query).toEqual({ code: 'BAD_USER_INPUT' })
      expect(errors?.[0]?.message).not.toMatch(/\/src\/|node_modules|at /)
    }
  })

  it('of the gateway itself is logged, and its details are hidden from the client', async () => {
    // The gateway writes only lists to this column, so any other value is a defect.
    const { account } = await createOneOfEach(app, tenant)
    await app.database.prisma.profile.updateMany({
      where: { accountId: account.id },
      data: { phoneNumbers: 'not a list' },
    })
    const { data, errors } = await app.graphql(
      tenant,
      'query ($ids: [ID!]!) { profiles(accountIds: $ids) { phoneNumbers } }',
      {
        ids: [account.id],
      },
    )
    expect(data).toEqual({ profiles: [{ phoneNumbers: null }] })
    expect(errors?.[0]?.extensions).toEqual({ code: 'INTERNAL' })
    expect(errors?.[0]?.message).not.toMatch(/iterable|phoneNumbers/i)
    expect(app.log.some(({ msg, level }) => msg === 'unexpected error' && level === 50)).toBe(true)
  })
})

describe('scopes', () => {
  it.each([
    ['{ users { nodes { id } } }', 'users:read'],
    ['{ user(id: "1") { id } }', 'users:read'],
    ['{ account(id: "1") { id } }', 'users:read'],
    ['{ profiles(accountIds: []) { id } }', 'profiles:read'],
    ['{ job(id: "1") { id } }', 'jobs:read'],
    ['mutation { updateUser(input: { id: "1" }) { userErrors { code } } }', 'users:write'],
  ])('are checked: %s needs %s', async (query, scope) => {
    const { tenantAppId } = tenant
    const without = await createKey(app.database, { tenantAppId, name: 'x', scopes: scopes.filter((s) => s !== scope) })
    const { errors } = await app.graphql({ ...tenant, key: without.key }, query)
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'FORBIDDEN' }, message: `This needs the scope ${scope}.` })
    const only = await createKey(app.database, { tenantAppId, name: 'x', scopes: [scope] })
    expect((await app.graphql({ ...tenant, key: only.key }, query)).errors).toBeUndefined()
  })

  it('limit the types that node returns, and REST answers 403', async () => {
    const { profile, user } = await createOneOfEach(app, tenant)
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'x',
      scopes: ['users:read'],
    })
    const limited = { ...tenant, key }
    const { data, errors } = await app.graphql(
      limited,
      'query ($p: ID!, $u: ID!) { profile: node(id: $p) { id } user: node(id: $u) { id } }',
      { p: profile.id, u: user.id },
    )
    expect(data).toEqual({ profile: null, user: { id: user.id } })
    expect(errors?.[0]).toMatchObject({ path: ['profile'], extensions: { code: 'FORBIDDEN' } })
    const response = await app.rest(limited, 'GET', '/fusion/profiles', ['a'])
    expect(response.statusCode).toBe(403)
    expect(response.json()).toMatchObject({ code: 'FORBIDDEN', detail: 'This needs the scope profiles:read.' })
  })
})
