import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createBulk } from '../support/bulk.ts'
import { factoriesFor } from '../support/factories.ts'
import { hasServer, isDistributed } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant
let rows: Awaited<ReturnType<typeof createRows>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
})
beforeEach(async () => {
  rows = await createRows()
})
afterAll(() => app.close())

/** Creates a user with an account, its profile and an email address. */
async function createRows() {
  const create = factoriesFor(app, tenant)
  const user = await create.user()
  const account = await create.account(user.id)
  const profile = await create.profile(account)
  await create.email(profile.id)
  return { user, account, profile }
}

const early = '2020-01-01T00:00:00.000Z'

interface UserError {
  readonly code: string
  readonly field: readonly string[]
  readonly message: string
}

type Payload = Record<string, unknown> & { readonly userErrors: readonly UserError[] }

/** Sends a mutation with one input. Returns its payload. */
async function mutate(name: string, input: object, selected = '', as = tenant): Promise<Payload> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${selected} userErrors { code field message } } }`
  const { data, errors } = await app.graphql<Record<string, Payload>>(as, query, { input })
  expect(errors).toBeUndefined()
  return data[name] as Payload
}

/** The mutations that change or delete a row: an input, and what the payload shows of the row. */
const mutations = {
  updateUser: () => ({ input: { id: rows.user.id, name: 'Changed' }, current: 'user', of: rows.user }),
  deleteUser: () => ({ input: { id: rows.user.id }, current: 'user', of: rows.user }),
  updateAccount: () => ({ input: { id: rows.account.id, status: 'EXPIRED' }, current: 'account', of: rows.account }),
  unlinkAccount: () => ({ input: { id: rows.account.id }, current: 'account', of: rows.account }),
  syncProfile: () => ({
    input: { accountId: rows.account.id, username: 'changed', emails: [] },
    current: 'profile',
    of: rows.profile,
  }),
}

const names = Object.keys(mutations) as (keyof typeof mutations)[]
const bulkNames = names.filter((name) => name !== 'updateAccount')

/** All rows of the tenant, and how many events there are. */
async function stateOf() {
  const { prisma } = app.database
  const where = { tenantAppId: tenant.tenantAppId }
  const order = { where, orderBy: { id: 'asc' } } as const
  return [
    await prisma.user.findMany(order),
    await prisma.account.findMany(order),
    await prisma.profile.findMany(order),
    await prisma.emailRecord.findMany(order),
    await prisma.event.count({ where }),
  ]
}

const conflict = { code: 'CONFLICT', field: ['expectedUpdatedAt'], message: expect.stringContaining('updatedAt') }

describe.each(names)('expectedUpdatedAt of %s', (name) => {
  it('lets the mutation write if it is the updatedAt of the row', async () => {
    const { input, of } = mutations[name]()
    const before = await stateOf()
    expect(await mutate(name, { ...input, expectedUpdatedAt: of.updatedAt })).toEqual({ userErrors: [] })
    expect(await stateOf()).not.toEqual(before)
  })

  it('is CONFLICT if it is another time: nothing is written, and the payload has the row as it is now', async () => {
    const { input, current, of } = mutations[name]()
    const before = await stateOf()
    const nested = name === 'syncProfile' ? 'emails { value }' : 'updatedAt'
    for (const expectedUpdatedAt of [early, new Date(of.updatedAt.getTime() + 1)]) {
      const payload = await mutate(name, { ...input, expectedUpdatedAt }, `${current} { id updatedAt ${nested} }`)
      expect(payload).toMatchObject({
        [current]: { id: of.id, updatedAt: of.updatedAt.toISOString() },
        userErrors: [conflict],
      })
    }
    expect(await stateOf()).toEqual(before)
  })

  it('lets exactly one of several writers write that have read the same', async () => {
    const { input, of } = mutations[name]()
    const read = { ...input, expectedUpdatedAt: of.updatedAt }
    const payloads = await Promise.all(
      Array.from({ length: 4 }, (_, number) =>
        // Each changes the row: an update to the same values would be no change.
        mutate(name, { ...read, ...differing(name, number) }),
      ),
    )
    const codes = payloads.map(({ userErrors }) => userErrors.map(({ code }) => code).join())
    // Who comes after a deletion finds no row.
    const lost = name === 'deleteUser' || name === 'unlinkAccount' ? 'NOT_FOUND' : 'CONFLICT'
    expect(codes.toSorted()).toEqual(['', ...Array(3).fill(lost)].toSorted())
  })

  it.skipIf(!hasServer || isDistributed)('is compared with what a writer stores that it has waited for', async () => {
    const { input, of } = mutations[name]()
    const table = { user: 'user', account: 'account', profile: 'profile' }[mutations[name]().current]
    let waiting: Promise<Payload> | undefined
    await app.database.sql.transact(async (sql) => {
      await sql.execute({ text: `UPDATE "${table}" SET updated_at = now() + interval '1 second' WHERE id = $1` }, [
        of.id,
      ])
      waiting = mutate(name, { ...input, expectedUpdatedAt: of.updatedAt })
      await expect.poll(countWaiting).toBe(1)
    })
    expect(await waiting).toEqual({ userErrors: [conflict] })
  })

  it('is REQUIRED if it is null, or a variable without a value', async () => {
    const { input } = mutations[name]()
    const before = await stateOf()
    const required = { userErrors: [{ code: 'REQUIRED', field: ['expectedUpdatedAt'] }] }
    expect(await mutate(name, { ...input, expectedUpdatedAt: null })).toMatchObject(required)
    const key = 'accountId' in input ? 'accountId' : 'id'
    const id = 'accountId' in input ? input.accountId : input.id
    const query = `mutation ($time: DateTime) {
      ${name}(input: { ${key}: "${id}", expectedUpdatedAt: $time }) { userErrors { code field } }
    }`
    expect((await app.graphql(tenant, query)).data).toMatchObject({ [name]: required })
    expect(await stateOf()).toEqual(before)
  })

  it('does not tell other tenants whether the row exists', async () => {
    const { input, of } = mutations[name]()
    const missing = { userErrors: [{ code: 'NOT_FOUND', field: ['accountId' in input ? 'accountId' : 'id'] }] }
    for (const expectedUpdatedAt of [early, of.updatedAt]) {
      expect(await mutate(name, { ...input, expectedUpdatedAt }, '', other)).toMatchObject(missing)
    }
  })
})

/** A change that differs from those of other writers. */
function differing(name: string, number: number): object {
  if (name === 'updateUser') return { name: `Name ${number}` }
  if (name === 'updateAccount') return { displayName: `Name ${number}` }
  return name === 'syncProfile' ? { username: `name-${number}` } : {}
}

/** How many sessions wait for a lock. */
async function countWaiting(): Promise<number> {
  const waiting = await app.database.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return waiting.length
}

describe.each(bulkNames)('expectedUpdatedAt of %ss', (name) => {
  it('is checked for each input, and a conflict does not stop the others', async () => {
    const bulk = createBulk(app, tenant)
    const first = mutations[name]()
    rows = await createRows()
    const second = mutations[name]()
    rows = await createRows()
    const third = mutations[name]()
    rows = await createRows()
    const { input, current } = mutations[name]()
    const results = await bulk(
      `${name}s`,
      [
        { ...first.input, expectedUpdatedAt: early },
        { ...second.input, expectedUpdatedAt: second.of.updatedAt },
        { ...third.input, expectedUpdatedAt: null },
        input,
      ],
      `${current} { id }`,
    )
    const id = (of: { id: string }) => (name.startsWith('delete') || name.startsWith('unlink') ? null : { id: of.id })
    expect(results).toMatchObject([
      { [current]: { id: first.of.id }, userErrors: [{ ...conflict, field: ['inputs', '0', 'expectedUpdatedAt'] }] },
      { [current]: id(second.of), userErrors: [] },
      { [current]: null, userErrors: [{ code: 'REQUIRED', field: ['inputs', '2', 'expectedUpdatedAt'] }] },
      { [current]: id(mutations[name]().of), userErrors: [] },
    ])
  })

  it('is REQUIRED for an input in which it is a variable without a value', async () => {
    const { input } = mutations[name]()
    const key = 'accountId' in input ? 'accountId' : 'id'
    const id = 'accountId' in input ? input.accountId : input.id
    const query = `mutation ($time: DateTime) {
      ${name}s(inputs: [{ ${key}: "nobody" }, { ${key}: "${id}", expectedUpdatedAt: $time }]) {
        results { userErrors { code field } }
      }
    }`
    const before = await stateOf()
    expect((await app.graphql(tenant, query)).data).toEqual({
      [`${name}s`]: {
        results: [
          { userErrors: [{ code: 'NOT_FOUND', field: ['inputs', '0', key] }] },
          { userErrors: [{ code: 'REQUIRED', field: ['inputs', '1', 'expectedUpdatedAt'] }] },
        ],
      },
    })
    expect(await stateOf()).toEqual(before)
  })

  it('costs one statement more, if there are conflicts', async () => {
    const bulk = createBulk(app, tenant)
    const inputs: { input: object; of: { updatedAt: Date } }[] = []
    for (let number = 0; number < 2; number += 1) {
      rows = await createRows()
      inputs.push(mutations[name]())
    }
    const send = (expected: (of: { updatedAt: Date }) => unknown) =>
      app.statementsOf(() =>
        bulk(
          `${name}s`,
          inputs.map(({ input, of }) => ({ ...input, expectedUpdatedAt: expected(of) })),
        ),
      )
    const written = name === 'syncProfile' ? 5 : 1
    // Rejected profiles do not get their emails.
    expect(await send(() => early)).toHaveLength(name === 'syncProfile' ? written : written + 1)
    expect(await send(({ updatedAt }) => updatedAt)).toHaveLength(written)
  })
})

describe('updatedAt', () => {
  afterEach(() => vi.useRealTimers())

  it.each(['updateUser', 'updateAccount', 'syncProfile'] as const)(
    'is another time after each change, whatever the clock of the process says: %s',
    async (name) => {
      vi.useFakeTimers({ toFake: ['Date'] })
      const start = Date.now() + 60_000
      const { current } = mutations[name]()
      const times: string[] = []
      for (const [number, now] of [start, start, start - 10_000, start].entries()) {
        vi.setSystemTime(now)
        const { input } = mutations[name]()
        const payload = await mutate(name, { ...input, ...differing(name, number) }, `${current} { updatedAt }`)
        times.push((payload[current] as { updatedAt: string }).updatedAt)
      }
      expect(times).toEqual([start, start + 1, start + 2, start + 3].map((time) => new Date(time).toISOString()))
      // The same again changes nothing.
      const { input } = mutations[name]()
      const again = await mutate(name, { ...input, ...differing(name, 3) }, `${current} { updatedAt }`)
      expect(again).toMatchObject({ [current]: { updatedAt: times.at(-1) } })
    },
  )

  it('stays in the years that responses can show', async () => {
    const last = '9999-12-31T23:59:59.999Z'
    const { id } = await factoriesFor(app, tenant).user({ updatedAt: new Date(last) })
    const payload = await mutate('updateUser', { id, name: 'Late' }, 'user { name updatedAt }')
    expect(payload).toMatchObject({ user: { name: 'Late', updatedAt: last }, userErrors: [] })
  })

  it('of a profile changes with its emails, so that these are not overwritten either', async () => {
    const { account, profile } = rows
    const sync = (input: object) => mutate('syncProfile', { accountId: account.id, ...input }, 'profile { updatedAt }')
    const emails = [{ value: 'new@example.com' }]
    expect(await sync({ emails, expectedUpdatedAt: profile.updatedAt })).toMatchObject({ userErrors: [] })
    expect(await sync({ emails: [], expectedUpdatedAt: profile.updatedAt })).toMatchObject({ userErrors: [conflict] })
    const where = { tenantAppId: tenant.tenantAppId, profileId: profile.id }
    expect(await app.database.prisma.emailRecord.findMany({ where })).toMatchObject(emails)
  })
})

it('a profile that does not exist is not created, and the payload has none', async () => {
  const account = await factoriesFor(app, tenant).account(rows.user.id)
  const input = { accountId: account.id, username: 'ada', expectedUpdatedAt: early }
  expect(await mutate('syncProfile', input, 'profile { id }')).toEqual({
    profile: null,
    userErrors: [{ ...conflict, message: 'is given, but the account has no profile. Leave it out to create one' }],
  })
  expect(await app.database.prisma.profile.count({ where: { accountId: account.id } })).toBe(0)
})

it('a conflict shows the relations of the row, and nothing to a key that may not read it', async () => {
  const input = { id: rows.user.id, expectedUpdatedAt: early }
  const query = `mutation ($input: DeleteUserInput!) {
    deleteUser(input: $input) { deletedUserId user { name accounts { id profile { id } } } userErrors { message } }
  }`
  const { data } = await app.graphql<Record<string, Payload>>(tenant, query, { input })
  const { account, profile, user } = rows
  expect(data['deleteUser']).toMatchObject({
    deletedUserId: null,
    user: { name: user.name, accounts: [{ id: account.id, profile: { id: profile.id } }] },
  })
  const { tenantAppId } = tenant
  const { key, row } = await createKey(app.database, { tenantAppId, name: 'writer', scopes: ['users:write'] })
  const refused = await app.graphql<Record<string, Payload>>({ ...tenant, key, keyId: row.id }, query, { input })
  expect(refused.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' }, path: ['deleteUser', 'user'] }])
  expect(refused.data['deleteUser']).toMatchObject({ deletedUserId: null, user: null })
  expect(JSON.stringify(refused)).not.toContain(user.updatedAt.toISOString().slice(0, 10))
})

it('with an idempotency key, a repeated request gets the first response, written or rejected', async () => {
  const send = async (key: string, expectedUpdatedAt: unknown) => {
    const query = `mutation ($input: UpdateUserInput!) {
      updateUser(input: $input) { user { name updatedAt } userErrors { code } }
    }`
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'x-api-key': tenant.key, 'idempotency-key': key },
      payload: { query, variables: { input: { id: rows.user.id, name: 'Ada', expectedUpdatedAt } } },
    })
    return [response.json().data.updateUser, response.headers['idempotent-replayed']]
  }
  const { updatedAt } = rows.user
  const [written] = await send('conflict-1', updatedAt)
  expect(written).toMatchObject({ user: { name: 'Ada' }, userErrors: [] })
  expect(await send('conflict-1', updatedAt)).toEqual([written, 'true'])
  const [rejected] = await send('conflict-2', updatedAt)
  expect(rejected).toMatchObject({ user: { updatedAt: written.user.updatedAt }, userErrors: [{ code: 'CONFLICT' }] })
  await mutate('updateUser', { id: rows.user.id, name: 'Grace' })
  expect(await send('conflict-2', updatedAt)).toEqual([rejected, 'true'])
})
