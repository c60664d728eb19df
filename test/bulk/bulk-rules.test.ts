import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { userScopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createBulk } from '../support/bulk.ts'
import { settleEvents } from '../support/events.ts'
import { createOneOfEach } from '../support/factories.ts'

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

describe('the events of a bulk mutation', () => {
  const query = 'query ($after: String) { events(first: 500, after: $after) { nodes { id type resourceId keyId } } }'
  type Event = { readonly id: string; readonly type: string; readonly resourceId: string; readonly keyId: string }

  async function eventsOf(work: () => Promise<unknown>): Promise<string[]> {
    const read = async (after: string | null) => {
      await settleEvents(app)
      const { data } = await app.graphql<{ events: { nodes: Event[] } }>(tenant, query, { after })
      return data.events.nodes
    }
    const after = (await read(null)).at(-1)?.id ?? null
    await work()
    const events = await read(after)
    expect(new Set(events.map(({ keyId }) => keyId))).toEqual(new Set(events.length > 0 ? [tenant.keyId] : []))
    return events.map(({ type, resourceId }) => `${type} ${resourceId}`).sort()
  }

  it('are one for each changed row, by the key that sent it, and none for the others', async () => {
    const [one, two, three] = [
      await createOneOfEach(app, tenant),
      await createOneOfEach(app, tenant),
      await createOneOfEach(app, tenant),
    ]
    const users = [one, two, three].map(({ user }) => user)
    const changes = users.map(({ id, name }, index) => ({ id, name: index === 1 ? name : 'Changed' }))
    expect(await eventsOf(() => bulk('updateUsers', [...changes, { id: 'nobody' }]))).toEqual(
      [`USER_UPDATED ${one.user.id}`, `USER_UPDATED ${three.user.id}`].sort(),
    )
    const { value, type } = two.email
    const syncs = [
      // Of the first profile only an email changes, of the second one nothing, of the third one both.
      { accountId: one.account.id, emails: [{ value: 'new@example.com' }] },
      { accountId: two.account.id, emails: [{ value, type }], country: null },
      { accountId: three.account.id, emails: [], country: 'DE' },
    ]
    expect(await eventsOf(() => bulk('syncProfiles', syncs))).toEqual(
      [`PROFILE_SYNCED ${one.profile.id}`, `PROFILE_SYNCED ${three.profile.id}`].sort(),
    )
    const { platform, platformAccountId } = one.account
    const links = [
      { userId: one.user.id, platform, platformAccountId, displayName: 'Again' },
      { userId: one.user.id, platform: 'TWITCH', platformAccountId: 'new', displayName: 'New', id: 'linked' },
    ]
    expect(await eventsOf(() => bulk('linkAccounts', links))).toEqual(['ACCOUNT_LINKED linked'])
    const unlinked = [{ id: 'linked' }, { id: two.account.id }, { id: 'nobody' }]
    expect(await eventsOf(() => bulk('unlinkAccounts', unlinked))).toEqual(
      ['ACCOUNT_UNLINKED linked', `ACCOUNT_UNLINKED ${two.account.id}`].sort(),
    )
    expect(await eventsOf(() => bulk('deleteUsers', [{ id: two.user.id }, { id: 'nobody' }]))).toEqual([
      `USER_DELETED ${two.user.id}`,
    ])
    const created = await eventsOf(() => bulk('createUsers', [newUser, { ...newUser, name: '' }, newUser]))
    expect(created.map((event) => event.split(' ')[0])).toEqual(['USER_CREATED', 'USER_CREATED'])
    const jobs = [{ jobType: 'a', idempotencyKey: 'event' }, { jobType: 'b' }]
    expect(await eventsOf(() => bulk('createJobs', jobs))).toHaveLength(2)
    expect(await eventsOf(() => bulk('createJobs', jobs))).toHaveLength(1)
  })
})

describe('a bulk mutation with an idempotency key', () => {
  it('is executed once, however often it is sent', async () => {
    const send = async () => {
      const sent = await app.app.inject({
        method: 'POST',
        url: '/graphql',
        headers: { 'x-api-key': tenant.key, 'idempotency-key': 'nightly-1' },
        payload: {
          query: `mutation ($inputs: [CreateUserInput!]!) {
            createUsers(inputs: $inputs) { results { user { id } userErrors { field } } } }`,
          variables: { inputs: [newUser, { ...newUser, name: ' ' }, newUser] },
        },
      })
      return { replayed: sent.headers['idempotent-replayed'], results: sent.json().data.createUsers.results }
    }
    const before = await app.database.prisma.user.count()
    const first = await send()
    expect(first.results).toMatchObject([{}, { userErrors: [{ field: ['inputs', '1', 'name'] }] }, {}])
    expect(await send()).toEqual({ replayed: 'true', results: first.results })
    expect(await app.database.prisma.user.count()).toBe(before + 2)
  })
})

describe('a bulk mutation needs the scopes of its single mutation', () => {
  it.each([
    ['createUsers', newUser, 'users:write'],
    ['updateUsers', { id: 'x' }, 'users:write'],
    ['deleteUsers', { id: 'x' }, 'users:write'],
    ['linkAccounts', { userId: 'x', platform: 'X', platformAccountId: 'x', displayName: 'x' }, 'users:write'],
    ['unlinkAccounts', { id: 'x' }, 'users:write'],
    ['syncProfiles', { accountId: 'x' }, 'users:write'],
    ['createJobs', { jobType: 'x' }, 'jobs:write'],
  ] as const)('%s', async (name, input, scope) => {
    const keyWith = async (scopes: string[]) => {
      const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name, scopes })
      return { ...tenant, key }
    }
    const refused = await createBulk(app, await keyWith(['users:read'])).send(name, [input])
    expect(refused.errors).toMatchObject([{ path: [name], extensions: { code: 'FORBIDDEN' } }])
    const allowed = await createBulk(app, await keyWith([scope])).send(name, [input])
    expect(allowed.errors).toBeUndefined()
  })

  it('and each of its results those of its fields', async () => {
    const { user } = await createOneOfEach(app, tenant)
    const own = { tenantAppId: tenant.tenantAppId, name: 'writer', scopes: ['users:write'] }
    const { key } = await createKey(app.database, own)
    const inputs = [{ id: user.id, name: 'Written' }]
    const { data, errors } = await createBulk(app, { ...tenant, key }).send('updateUsers', inputs, 'user { id }')
    expect(errors).toMatchObject([{ path: ['updateUsers', 'results', 0, 'user'], extensions: { code: 'FORBIDDEN' } }])
    expect(data['updateUsers']).toEqual({ results: [{ user: null, userErrors: [] }] })
    expect(await app.database.prisma.user.findFirst({ where: { id: user.id } })).toMatchObject({ name: 'Written' })
  })
})

describe('a token that is bound to a user', () => {
  async function bulkAs(userId: string) {
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId, scopes: userScopes } },
    )
    return createBulk(app, { ...tenant, token: data.createAccessToken.accessToken })
  }

  it("changes the user's rows in bulk, and finds no others", async () => {
    const [own, other] = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
    const asUser = await bulkAs(own.user.id)
    expect((await asUser.send('createUsers', [newUser])).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    const account = { platform: 'TWITCH', displayName: 'x', platformAccountId: 'of-the-user' }
    const cases: Record<string, (of: typeof own) => object> = {
      updateUsers: ({ user }) => ({ id: user.id, name: 'By a token' }),
      linkAccounts: ({ user }) => ({ userId: user.id, ...account, platformAccountId: `of ${user.id}` }),
      syncProfiles: ({ account }) => ({ accountId: account.id, username: 'token', emails: [{ value: 'a@b' }] }),
      unlinkAccounts: ({ account }) => ({ id: account.id }),
      deleteUsers: ({ user }) => ({ id: user.id }),
    }
    const before = await app.database.prisma.user.findMany({
      where: { id: other.user.id },
      include: { accounts: true },
    })
    for (const [name, inputOf] of Object.entries(cases)) {
      const inputs = [other, own].map((of) => inputOf(of))
      expect(await asUser(name, inputs)).toMatchObject([{ userErrors: [{ code: 'NOT_FOUND' }] }, { userErrors: [] }])
    }
    const { prisma } = app.database
    expect(await prisma.user.findMany({ where: { id: other.user.id }, include: { accounts: true } })).toEqual(before)
    expect(await prisma.profile.findFirst({ where: { id: other.profile.id } })).toEqual(other.profile)
  })

  it('learns from linkAccounts that another user has the account, and does not get it', async () => {
    const [own, other] = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
    const { platform, platformAccountId } = other.account
    const input = { userId: own.user.id, platform, platformAccountId, displayName: 'x' }
    const results = await (await bulkAs(own.user.id))('linkAccounts', [input], 'account { id }')
    const field = ['inputs', '0', 'platformAccountId']
    expect(results).toMatchObject([{ account: null, userErrors: [{ code: 'CONFLICT', field }] }])
  })
})

describe('the limits of a body', () => {
  it('hold for all inputs together', async () => {
    const send = (payload: object) =>
      bulk.send(
        'createJobs',
        Array.from({ length: 100 }, () => payload),
      )
    const values = await send({ jobType: 'x', payload: { list: Array.from({ length: 250 }, () => 1) } })
    expect(values.errors).toMatchObject([{ message: expect.stringContaining('more than 20000 values') }])
    const within = await send({ jobType: 'x', payload: { text: 'x'.repeat(9_000) } })
    expect(within.errors).toBeUndefined()
    // The body costs a point per KiB, if that is more than the jobs cost.
    const { cost } = (within as unknown as { extensions: { cost: { requested: number } } }).extensions
    expect(cost.requested).toBeGreaterThan(880)
  })
})
