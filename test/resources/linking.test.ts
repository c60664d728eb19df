import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

interface Payload {
  readonly userErrors: { code: string; field: string[]; message: string }[]
  readonly account?: { id: string; displayName: string; user: { id: string } } | null
  readonly profile?: Record<string, unknown> | null
}

/** Runs a mutation. `response` selects fields of its payload, such as `account { id }`. */
async function mutate(
  name: string,
  input: Record<string, unknown>,
  response: string,
  client = tenant,
): Promise<Payload> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${response} userErrors { code field message } } }`
  const { data, errors } = await app.graphql<Record<string, Payload>>(client, query, { input })
  expect(errors).toBeUndefined()
  return data[name] as Payload
}

const link = (input: Record<string, unknown>) => mutate('linkAccount', input, 'account { id displayName user { id } }')

describe('linkAccount', () => {
  const accountInput = (platformAccountId: string) => ({
    platform: 'YOUTUBE',
    platformAccountId,
    displayName: 'Ada on YouTube',
  })

  it('links an account with a generated id or with a given one', async () => {
    const { id: userId } = await factoriesFor(app, tenant).user()
    const created = await link({ userId, ...accountInput('link-1') })
    expect(created).toMatchObject({
      account: { id: expect.stringMatching(/^acc_/), user: { id: userId } },
      userErrors: [],
    })
    const kept = await link({ userId, ...accountInput('link-2'), id: 'legacy/7' })
    expect(kept.account?.id).toBe('legacy/7')
  })

  it('returns the first link when the same user links the account again, also concurrently', async () => {
    const { id: userId } = await factoriesFor(app, tenant).user()
    const both = await Promise.all([
      link({ userId, ...accountInput('twice') }),
      link({ userId, ...accountInput('twice') }),
    ])
    const again = await link({ userId, ...accountInput('twice'), displayName: 'Another name', id: 'another-id' })
    expect(new Set([...both, again].map(({ account }) => account?.id)).size).toBe(1)
    expect(again.account?.displayName).toBe('Ada on YouTube')
  })

  it('rejects more than 1,000 accounts of a user whose token links them', async () => {
    const { tenantAppId } = tenant
    const { id: userId } = await factoriesFor(app, tenant).user()
    // The accounts of a user of another tenant with the same id, as after a copy of its rows, do not count.
    const elsewhere = factoriesFor(app, await app.createTenant())
    await elsewhere.user({ id: userId })
    await elsewhere.account(userId)
    const platform = 'YOUTUBE'
    await app.database.prisma.account.createMany({
      data: Array.from({ length: 999 }, (_, index) => ({
        tenantAppId,
        id: `acc_many_${index}`,
        userId,
        platform,
        platformAccountId: `many-${index}`,
        displayName: 'Ada',
        updatedAt: new Date(),
      })),
    })
    const input = { userId, scopes: ['users:read', 'users:write'] }
    const create = 'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(tenant, create, { input })
    const inputs = ['many-998', 'many-999', 'many-1000'].map((name) => ({ userId, ...accountInput(name) }))
    const query = `mutation ($inputs: [LinkAccountInput!]!) {
      linkAccounts(inputs: $inputs) { results { account { platformAccountId } userErrors { code field message } } } }`
    const { body } = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      payload: { query, variables: { inputs } },
      headers: { authorization: `Bearer ${data.createAccessToken.accessToken}` },
    })
    expect(JSON.parse(body).data.linkAccounts.results).toEqual([
      { account: { platformAccountId: 'many-998' }, userErrors: [] },
      { account: { platformAccountId: 'many-999' }, userErrors: [] },
      {
        account: null,
        userErrors: [
          { code: 'TOO_LONG', field: ['inputs', '2', 'userId'], message: expect.stringContaining('1000 accounts') },
        ],
      },
    ])
    // Its tenant can link more.
    expect((await link({ userId, ...accountInput('many-1001') })).userErrors).toEqual([])
  })

  it('rejects an account of another user and an id of another account with CONFLICT', async () => {
    const create = factoriesFor(app, tenant)
    const [one, two] = [await create.user(), await create.user()]
    await link({ userId: one.id, ...accountInput('taken'), id: 'taken-id' })
    const other = await link({ userId: two.id, ...accountInput('taken') })
    expect(other).toMatchObject({ account: null, userErrors: [{ code: 'CONFLICT', field: ['platformAccountId'] }] })
    const sameId = await link({ userId: two.id, ...accountInput('free'), id: 'taken-id' })
    expect(sameId).toMatchObject({ account: null, userErrors: [{ code: 'CONFLICT', field: ['id'] }] })
    expect(await app.database.prisma.account.count({ where: { userId: two.id } })).toBe(0)
  })

  it('lets another tenant link the same platform account', async () => {
    const other = await app.createTenant()
    const { id: userId } = await factoriesFor(app, other).user()
    const [mine] = [await factoriesFor(app, tenant).user()]
    await link({ userId: mine.id, ...accountInput('shared'), id: 'shared-id' })
    const theirs = await mutate(
      'linkAccount',
      { userId, ...accountInput('shared'), id: 'shared-id' },
      'account { id }',
      other,
    )
    expect(theirs).toMatchObject({ account: { id: 'shared-id' }, userErrors: [] })
    // Each tenant gets its own first link.
    for (const [client, user] of [
      [other, userId],
      [tenant, mine.id],
    ] as const) {
      const again = await mutate(
        'linkAccount',
        { userId: user, ...accountInput('shared') },
        'account { user { id } }',
        client,
      )
      expect(again).toEqual({ account: { user: { id: user } }, userErrors: [] })
    }
  })

  it.each([
    [{ platform: 'youtube' }, ['platform']],
    [{ platform: '1X' }, ['platform']],
    [{ platformAccountId: ' ' }, ['platformAccountId']],
    [{ displayName: 'x'.repeat(201), id: 'x'.repeat(129) }, ['id', 'displayName']],
    [{ userId: 'nobody' }, ['userId']],
  ])('rejects %.60j', async (wrong, fields) => {
    const { id: userId } = await factoriesFor(app, tenant).user()
    const response = await link({ userId, ...accountInput('refused'), ...wrong })
    expect(response.account).toBeNull()
    expect(response.userErrors.map(({ field }) => field.join('.'))).toEqual(fields)
  })
})

describe('updateAccount, unlinkAccount, deleteUser', () => {
  it('updateAccount changes the display name', async () => {
    const { account } = await createOneOfEach(app, tenant)
    const changed = await mutate('updateAccount', { id: account.id, displayName: 'New' }, 'account { displayName }')
    expect(changed).toEqual({ account: { displayName: 'New' }, userErrors: [] })
  })

  it('unlinkAccount deletes the account, its profile and its emails, and nothing else', async () => {
    const [one, other] = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
    const response = await mutate('unlinkAccount', { id: one.account.id }, 'unlinkedAccountId')
    expect(response).toEqual({ unlinkedAccountId: one.account.id, userErrors: [] })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }'
    const ids = [one.account, one.profile, one.email, one.user, other.email].map(({ id }) => id)
    const { data } = await app.graphql(tenant, query, { ids })
    expect(data['nodes']).toEqual([null, null, null, { id: one.user.id }, { id: other.email.id }])
  })

  it('unlinkAccount says what a cache removes, and whose account it was', async () => {
    const { user, account, profile } = await createOneOfEach(app, tenant)
    const { id: left } = await factoriesFor(app, tenant).account(user.id)
    const fields = 'unlinkedAccountId deletedProfileId user { id name accounts { id } }'
    const statements = await app.statementsOf(async () => {
      expect(await mutate('unlinkAccount', { id: account.id }, fields)).toEqual({
        unlinkedAccountId: account.id,
        deletedProfileId: profile.id,
        user: { id: user.id, name: user.name, accounts: [{ id: left }] },
        userErrors: [],
      })
    })
    expect(statements).toHaveLength(3)
    expect(await mutate('unlinkAccount', { id: left }, 'unlinkedAccountId deletedProfileId')).toEqual({
      unlinkedAccountId: left,
      deletedProfileId: null,
      userErrors: [],
    })
  })

  it('deleteUser says what a cache removes', async () => {
    const [{ user, account, profile }, other] = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
    const { id: second } = await factoriesFor(app, tenant).account(user.id)
    const fields = 'deletedUserId unlinkedAccountIds deletedProfileIds'
    const accountIds = [account.id, second]
    expect(await mutate('deleteUser', { id: user.id }, fields)).toEqual({
      deletedUserId: user.id,
      unlinkedAccountIds: expect.toSatisfy((ids: string[]) => ids.toSorted().join() === accountIds.toSorted().join()),
      deletedProfileIds: [profile.id],
      userErrors: [],
    })
    const { id: alone } = await factoriesFor(app, tenant).user()
    const query = `mutation ($inputs: [DeleteUserInput!]!) { deleteUsers(inputs: $inputs) { results { ${fields} } } }`
    const { data } = await app.graphql(tenant, query, {
      inputs: [{ id: alone }, { id: 'nobody' }, { id: other.user.id }],
    })
    expect(data['deleteUsers']).toEqual({
      results: [
        { deletedUserId: alone, unlinkedAccountIds: [], deletedProfileIds: [] },
        { deletedUserId: null, unlinkedAccountIds: null, deletedProfileIds: null },
        {
          deletedUserId: other.user.id,
          unlinkedAccountIds: [other.account.id],
          deletedProfileIds: [other.profile.id],
        },
      ],
    })
  })

  it('deleteUser deletes the user and all its rows with one statement', async () => {
    const [one, other] = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
    const statements = await app.statementsOf(async () => {
      const response = await mutate('deleteUser', { id: one.user.id }, 'deletedUserId')
      expect(response).toEqual({ deletedUserId: one.user.id, userErrors: [] })
    })
    expect(statements.filter((sql) => /DELETE/.test(sql))).toHaveLength(1)
    const { prisma } = app.database
    expect(await prisma.emailRecord.count({ where: { id: one.email.id } })).toBe(0)
    expect(await prisma.emailRecord.count({ where: { id: other.email.id } })).toBe(1)
  })

  it.each([
    ['updateAccount', 'account { id }'],
    ['unlinkAccount', 'unlinkedAccountId'],
    ['deleteUser', 'deletedUserId'],
  ])('%s reports NOT_FOUND for a missing id and for an id of another tenant', async (name, response) => {
    const other = await app.createTenant()
    const { user, account, email } = await createOneOfEach(app, other)
    const id = name === 'deleteUser' ? user.id : account.id
    const foreign = await mutate(name, { id }, response)
    expect(foreign).toEqual(await mutate(name, { id: 'nobody' }, response))
    expect(foreign.userErrors).toMatchObject([{ code: 'NOT_FOUND', field: ['id'] }])
    expect(await app.database.prisma.emailRecord.count({ where: { id: email.id } })).toBe(1)
  })
})

describe('syncProfile', () => {
  const fields = `profile { id platform platformAccountId username url gender dateOfBirth phoneNumbers followersCount
    watchTimeInHours joinedAt verified emails { id value type isVerified isPrimary createdAt updatedAt } }`
  const sync = (input: Record<string, unknown>, client = tenant) => mutate('syncProfile', input, fields, client)

  async function newAccount() {
    const create = factoriesFor(app, tenant)
    return create.account((await create.user()).id)
  }

  it('creates a profile, keeps absent fields and clears null fields', async () => {
    const account = await newAccount()
    const created = await sync({
      accountId: account.id,
      username: 'ada',
      url: 'https://example.com/ada',
      gender: 'FEMALE',
      dateOfBirth: '1990-05-17',
      phoneNumbers: [{ z: 1, a: ['\u0000', '\ud800', null] }],
      followersCount: 9_007_199_254_740_991,
      watchTimeInHours: 0.5,
      joinedAt: '2020-01-01T00:00:00.001Z',
      verified: true,
    })
    expect(created).toMatchObject({
      profile: {
        id: expect.stringMatching(/^prf_/),
        platform: account.platform,
        platformAccountId: account.platformAccountId,
        username: 'ada',
        dateOfBirth: '1990-05-17',
        phoneNumbers: [{ z: 1, a: ['\u0000', '\ud800', null] }],
        followersCount: 9_007_199_254_740_991,
        joinedAt: '2020-01-01T00:00:00.001Z',
        emails: [],
      },
      userErrors: [],
    })
    const changed = await sync({ accountId: account.id, username: null, phoneNumbers: null, gender: 'OTHER' })
    expect(changed.profile).toEqual({ ...created.profile, username: null, phoneNumbers: [], gender: 'OTHER' })
  })

  it('replaces the emails; an email that stays keeps its id and creation time', async () => {
    const account = await newAccount()
    const accountId = account.id
    const [work, home] = [
      { value: 'a@work', type: 'work' },
      { value: 'a@home', type: 'home' },
    ]
    const first = await sync({ accountId, emails: [work, home] })
    const before = first.profile?.['emails'] as Record<string, unknown>[]
    expect(before.map(({ value }) => value)).toEqual(['a@work', 'a@home'])
    const second = await sync({
      accountId,
      emails: [
        { ...home, isPrimary: true },
        { value: 'a@work', type: 'other' },
      ],
    })
    const after = second.profile?.['emails'] as Record<string, unknown>[]
    expect(after[0]).toEqual({ ...before[1], isPrimary: true, updatedAt: expect.any(String) })
    expect(after[1]).toMatchObject({ value: 'a@work', type: 'other' })
    expect(before.map(({ id }) => id)).not.toContain(after[1]?.['id'])
    const untouched = await sync({ accountId, username: 'x' })
    expect(untouched.profile?.['emails']).toEqual(after)
    expect((await sync({ accountId, emails: null })).profile?.['emails']).toEqual([])
  })

  it('does not mix the emails of concurrent calls for one account', async () => {
    const { id: accountId } = await newAccount()
    const lists = ['a', 'b', 'c', 'd'].map((name) => [1, 2, 3].map((n) => ({ value: `${name}${n}@example.com` })))
    const responses = await Promise.all(lists.map((emails) => sync({ accountId, emails })))
    expect(new Set(responses.map(({ profile }) => profile?.['id'])).size).toBe(1)
    const { profile } = await sync({ accountId })
    const kept = profile?.['emails'] as { value: string }[] | undefined
    const names = (kept ?? []).map(({ value }) => value.charAt(0))
    expect(names).toHaveLength(3)
    expect(new Set(names).size).toBe(1)
  })

  const tooLarge = { x: 'x'.repeat(16 * 1024) }

  it.each([
    [{ gender: 'female' }, ['gender']],
    [{ url: '/relative' }, ['url']],
    [{ url: 'javascript:alert(1)', websiteUrl: 'ftp://example.com' }, ['url', 'websiteUrl']],
    [{ followersCount: -1, contentsCount: -1 }, ['followersCount', 'contentsCount']],
    [{ watchTimeInHours: -0.5 }, ['watchTimeInHours']],
    [{ phoneNumbers: [{}, tooLarge], addresses: [tooLarge] }, ['phoneNumbers.1', 'addresses.0']],
    [{ phoneNumbers: [JSON.parse('{"a":{"__proto__":1}}')] }, ['phoneNumbers.0']],
    [{ phoneNumbers: Array.from({ length: 101 }, () => ({})) }, ['phoneNumbers']],
    [{ emails: [{ value: 'a@b' }, { value: ' ', type: 'x'.repeat(65) }] }, ['emails.1.value', 'emails.1.type']],
    [{ username: 'a\0b' }, ['username']],
    [{ accountId: 'nobody' }, ['accountId']],
  ])('rejects %.70j and writes nothing', async (wrong, expected) => {
    const { id: accountId } = await newAccount()
    const response = await sync({ accountId, username: 'never', ...wrong })
    expect(response.profile).toBeNull()
    expect(response.userErrors.map(({ field }) => field.join('.'))).toEqual(expected)
    expect(await app.database.prisma.profile.count({ where: { accountId } })).toBe(0)
  })

  it.each([
    { followersCount: 9_007_199_254_740_992 },
    { followersCount: 1.5 },
    { dateOfBirth: '1990-02-30' },
    { dateOfBirth: '0000-01-01' },
    { phoneNumbers: ['text'] },
    { joinedAt: 'yesterday' },
  ])('returns BAD_USER_INPUT for a value of the wrong type: %j', async (wrong) => {
    const { id: accountId } = await newAccount()
    const query = 'mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { profile { id } } }'
    const { errors } = await app.graphql(tenant, query, { input: { accountId, ...wrong } })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })

  it('does not mix up profiles of two tenants with the same ids', async () => {
    const [one, two] = [await app.createTenant(), await app.createTenant()]
    for (const owner of [one, two]) {
      const create = factoriesFor(app, owner)
      await create.user({ id: 'u' })
      const account = await create.account('u', { id: 'a', platform: 'X', platformAccountId: 'x' })
      await create.profile(account, { id: 'p' })
    }
    await factoriesFor(app, two).email('p', { id: 'e', value: 'same@example.com', type: null })
    const synced = await sync({ accountId: 'a', emails: [{ value: 'same@example.com' }] }, one)
    expect(synced.profile?.['emails']).toMatchObject([{ id: expect.stringMatching(/^eml_/) }])
    const theirs = (await sync({ accountId: 'a' }, two)).profile?.['emails']
    expect(theirs).toMatchObject([{ id: 'e' }])
    // Changing or deleting an email does not affect the email of the other tenant with the same id.
    await app.database.prisma.emailRecord.updateMany({ where: { tenantAppId: one.tenantAppId }, data: { id: 'e' } })
    const changed = await sync({ accountId: 'a', emails: [{ value: 'same@example.com', isPrimary: true }] }, one)
    expect(changed.profile?.['emails']).toMatchObject([{ id: 'e', isPrimary: true }])
    expect((await sync({ accountId: 'a' }, two)).profile?.['emails']).toEqual(theirs)
    await sync({ accountId: 'a', emails: [] }, one)
    expect((await sync({ accountId: 'a' }, two)).profile?.['emails']).toEqual(theirs)
    // Their email is no change of a profile without emails.
    const clear = () => mutate('syncProfile', { accountId: 'a', emails: [] }, 'profile { updatedAt }', one)
    expect(await clear()).toEqual(await clear())
  })

  it('does not change a profile of another tenant', async () => {
    const other = await app.createTenant()
    const { account, profile } = await createOneOfEach(app, other)
    const foreign = await sync({ accountId: account.id, username: 'taken', emails: [] })
    expect(foreign).toEqual(await sync({ accountId: 'nobody', username: 'taken', emails: [] }))
    expect(foreign.userErrors).toMatchObject([{ code: 'NOT_FOUND', field: ['accountId'] }])
    const row = await app.database.prisma.profile.findFirst({ where: { id: profile.id }, include: { emails: true } })
    expect(row).toMatchObject({ username: null, emails: [{}] })
  })
})
