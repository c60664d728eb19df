import { Prisma } from '@fusion-gateway/database'
import type { ViewerClient } from '@fusion-gateway/prisma-trees'
import { createLoaders } from '@fusion-gateway/prisma-trees'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { createRows, days, forPrisma, ids, names, wheres } from './wheres.ts'

let app: TestApp
let own: string
let db: ViewerClient

beforeAll(async () => {
  app = await startTestApp()
  own = await createRows(app)
  db = clientOf()
})
afterAll(() => app.close())

/** A new tenant with the same rows. */
async function copyOf(from: string): Promise<string> {
  const { tenantAppId } = await app.createTenant()
  const { user, account, profile } = app.database.prisma
  const where = { tenantAppId: from }
  const owned = <Row>(rows: readonly Row[]) => rows.map((row) => ({ ...row, tenantAppId }))
  const users = await user.findMany({ where })
  await user.createMany({ data: owned(users.map(({ metadata: _, ...row }) => row)) })
  await account.createMany({ data: owned(await account.findMany({ where })) })
  const profiles = await profile.findMany({ where })
  await profile.createMany({ data: owned(profiles.map((row) => ({ ...row, phoneNumbers: [], addresses: [] }))) })
  return tenantAppId
}

interface ClientOptions {
  readonly tenantAppId?: string
  /** The user of a token. */
  readonly within?: string
  readonly counted?: { statements: number }
}

function clientOf({ tenantAppId = own, within, counted = { statements: 0 } }: ClientOptions = {}): ViewerClient {
  const { database, services } = app
  const owner = { id: tenantAppId, within: within === undefined ? undefined : { model: 'User' as const, id: within } }
  const atOnce = <Result>(read: () => Promise<Result>) => read()
  const limits = { search: atOnce, objects: atOnce, longModels: services.reading.longModels, maxLength: 1e9 }
  const sql = database.sql.for(counted)
  return database.trees.of({ sql, owner, loaders: createLoaders(sql, database.reads, owner, limits) })
}

type Args = Readonly<Record<string, unknown>>
type Delegate = Readonly<Record<string, (args: unknown) => Promise<unknown>>>

const models = ['user', 'account', 'profile'] as const
type Name = (typeof models)[number]
const delegateOf = (client: object, name: Name) => (client as Record<Name, Delegate>)[name]

/** Rows without their tenant and the time of the last change, which only some updates change. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const { tenantAppId: _, updatedAt: __, ...others } = value as Args
  return others
}

/** A result, or the code of an error that Prisma Client names. All others are errors of PostgreSQL. */
async function outcomeOf(work: Promise<unknown> | undefined): Promise<unknown> {
  try {
    return comparable(await work)
  } catch (error) {
    return (error as { code?: unknown }).code === 'P2025' ? 'P2025' : 'an error'
  }
}

async function rowsOf(tenantAppId: string): Promise<unknown[]> {
  const all = { where: { tenantAppId }, orderBy: { id: 'asc' } } as const
  const { user, account, profile } = app.database.prisma
  return [await user.findMany(all), await account.findMany(all), await profile.findMany(all)]
}

const id = fc.constantFrom(...ids, 'usr_none')
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const day = fc.constantFrom(...days)
const json = fc.constantFrom<unknown>([], [{ value: '1', type: null }], 'text', 5, { b: 1, a: [true] }, Prisma.JsonNull)
const list = fc.constantFrom<unknown>([], ['a', 'b"\\'], { set: ['c,{}'] })
const changeable: Record<Name, Record<string, fc.Arbitrary<unknown>>> = {
  user: { name: fc.constantFrom(...names), email: fc.constantFrom('a@example.com', 'é'), phone: optional(id) },
  account: { displayName: fc.constantFrom(...names), status: fc.constantFrom('CONNECTED', 'EXPIRED'), userId: id },
  profile: {
    country: optional(fc.constantFrom('DE', 'AT')),
    dateOfBirth: optional(fc.constantFrom(new Date('2000-02-29T13:00:00Z'), new Date(0))),
    followersCount: optional(fc.constantFrom<unknown>(0n, 7, 9_007_199_254_740_993n)),
    watchTimeInHours: optional(fc.constantFrom(0, 0.5, 1e-7)),
    verified: optional(fc.boolean()),
    joinedAt: optional(fc.constantFrom<unknown>(days[0], '2026-01-31T08:00:00.500Z')),
    phoneNumbers: json,
    addresses: json,
    unsupportedFields: list,
  },
}
const few = Array.from({ length: 6 }, (_, index) => `new_${index}`)
const required: Record<Name, Record<string, fc.Arbitrary<unknown>>> = {
  user: { name: fc.constantFrom(...names), email: fc.constantFrom('a@example.com') },
  account: { userId: id, platform: fc.constantFrom('X', 'TIKTOK'), platformAccountId: id, displayName: id },
  profile: {
    accountId: fc.constantFrom(...few),
    platform: fc.constant('X'),
    platformAccountId: id,
  },
}
const newIds: Record<Name, fc.Arbitrary<string>> = {
  user: fc.constantFrom(...few, ...ids.slice(0, 6)),
  account: fc.constantFrom(...few),
  profile: fc.constantFrom(...few, ...ids.map((of) => `prf_${of}`)),
}

interface Operation {
  readonly name: Name
  readonly method: string
  /** The arguments for a tenant: of the client, or of Prisma Client. */
  args(tenantAppId: string, isPrisma: boolean, current: Date | undefined): unknown
  readonly id?: string
}

function operationsOn(name: Name): fc.Arbitrary<Operation> {
  const data = fc
    .tuple(
      fc.record({ id: newIds[name], createdAt: day, ...required[name] }),
      fc.record(changeable[name], { requiredKeys: [] }),
    )
    .map(([row, others]) => ({ ...others, ...row }))
  const withTenant = (tenantAppId: string, isPrisma: boolean, row: object) => (isPrisma ? { ...row, tenantAppId } : row)
  const create = data.map((row): Operation => {
    return { name, method: 'create', args: (...of) => ({ data: withTenant(of[0], of[1], row) }) }
  })
  const createMany = fc
    .tuple(fc.constantFrom('createMany', 'createManyAndReturn'), fc.array(data, { maxLength: 4 }), fc.boolean())
    .map(([method, rows, skipDuplicates]): Operation => {
      return {
        name,
        method,
        args: (...of) => ({ data: rows.map((row) => withTenant(of[0], of[1], row)), skipDuplicates }),
      }
    })
  const expected = fc.constantFrom('nothing', 'current', 'other')
  const change = fc
    .tuple(
      newIds[name],
      expected,
      fc.option(fc.record(changeable[name], { requiredKeys: [Object.keys(changeable[name])[0] ?? ''] })),
    )
    .map(
      ([id, expects, set]): Operation => ({
        name,
        method: set ? 'update' : 'delete',
        id,
        args(tenantAppId, isPrisma, current) {
          const key = isPrisma ? { tenantAppId_id: { tenantAppId, id } } : { id }
          const updatedAt = expects === 'current' ? current : new Date(5)
          return {
            where: { ...key, ...(expects !== 'nothing' && current && { updatedAt }) },
            ...(set && { data: set }),
          }
        },
      }),
    )
  return fc.oneof(create, createMany, change, change)
}

const numbers = {
  user: ['_count', '_min', '_max'],
  account: ['_count', '_min', '_max'],
  profile: ['_count', '_sum', '_avg', '_min', '_max'],
} as const
const numeric = ['followersCount', 'watchTimeInHours']
const counted = { user: ['phone', 'createdAt'], account: ['status', 'platform', 'createdAt'] }

const aggregates = (name: Name) =>
  fc.tuple(
    wheres[name],
    fc.record(
      Object.fromEntries(
        numbers[name].map((of) => {
          const fields =
            name === 'profile'
              ? [...numeric, ...(of === '_sum' || of === '_avg' ? [] : ['country', 'dateOfBirth'])]
              : counted[name]
          const some = fc.subarray(of === '_count' ? [...fields, '_all'] : fields, { minLength: 1 })
          const asked = some.map((selected) => Object.fromEntries(selected.map((field) => [field, true])))
          return [of, of === '_count' ? fc.oneof(fc.constant(true), asked) : asked]
        }),
      ),
      { requiredKeys: ['_count'] },
    ),
  )

const groups = {
  user: { by: ['phone'], orderBy: [{ phone: 'desc' }] },
  account: {
    by: ['platform', 'status'],
    orderBy: [{ _count: { id: 'desc' } }, { platform: 'asc' }, { status: 'asc' }],
  },
  profile: {
    by: ['country', 'verified'],
    orderBy: [{ country: { sort: 'asc', nulls: 'first' } }, { verified: 'asc' }],
  },
}

/** The same for a tenant with an untouched Prisma Client. */
const ofTenant = (tenantAppId: string, where: object) => ({ AND: [{ tenantAppId }, forPrisma(where)] })

describe('the writes of the client of a viewer', () => {
  it('writes what an untouched Prisma Client writes, and returns the same', async () => {
    const [changed, twin] = [await copyOf(own), await copyOf(own)]
    const client = clientOf({ tenantAppId: changed })
    const before = await rowsOf(own)
    const operation = fc.constantFrom(...models).chain(operationsOn)
    await fc.assert(
      fc.asyncProperty(operation, async ({ name, method, args, id }) => {
        const run = async (tenantAppId: string, of: object, isPrisma: boolean) => {
          const find = { where: { tenantAppId, id: id ?? '' } }
          const current = id === undefined ? null : await delegateOf(app.database.prisma, name)['findFirst']?.(find)
          const { updatedAt } = (current ?? {}) as { updatedAt?: Date }
          return outcomeOf(delegateOf(of, name)[method]?.(args(tenantAppId, isPrisma, updatedAt)))
        }
        expect(await run(changed, client, false)).toEqual(await run(twin, app.database.prisma, true))
      }),
      { numRuns: runs(300) },
    )
    const [written, expected] = [await rowsOf(changed), await rowsOf(twin)]
    expect(comparable(written)).toEqual(comparable(expected))
    expect(written.map((rows) => (rows as unknown[]).length)).not.toEqual(
      before.map((rows) => (rows as unknown[]).length),
    )
    expect(await rowsOf(own)).toEqual(before)
  })

  it.each(models)('returns the numbers about each %s that an untouched Prisma Client returns', async (name) => {
    await fc.assert(
      fc.asyncProperty(aggregates(name), fc.constantFrom(1, 3, 500), async ([where, asked], take) => {
        const [mine, prisma] = [delegateOf(db, name), delegateOf(app.database.prisma, name)]
        const aggregate = { ...asked, where: ofTenant(own, where) }
        expect(await mine['aggregate']?.({ ...asked, where })).toEqual(await prisma['aggregate']?.(aggregate))
        const group = { ...groups[name], ...asked, take }
        expect(await mine['groupBy']?.({ ...group, where })).toEqual(
          await prisma['groupBy']?.({ ...group, where: ofTenant(own, where) }),
        )
      }),
      { numRuns: runs(90) },
    )
  })

  it('fills in what has a default, and returns what is selected', async () => {
    const begin = Date.now() - 1
    const account = { id: 'acc_1', userId: 'usr_01', platform: 'X', platformAccountId: 'defaults', displayName: 'Ada' }
    const { createdAt, updatedAt, ...others } = await db.account.create({ data: account })
    expect(others).toEqual({ ...account, tenantAppId: own, status: 'CONNECTED' })
    expect(Math.min(createdAt.getTime(), updatedAt.getTime())).toBeGreaterThan(begin)
    expect(Math.max(createdAt.getTime(), updatedAt.getTime())).toBeLessThanOrEqual(Date.now())
    const selected = await db.account.create({
      data: { ...account, id: 'acc_2', platformAccountId: 'other' },
      select: { id: true, status: true },
    })
    expect(selected).toEqual({ id: 'acc_2', status: 'CONNECTED' })
  })

  it('changes and deletes each row in its own way, with one statement, and says which it did not find', async () => {
    const counted = { statements: 0 }
    const client = clientOf({ counted })
    const users = [1, 2, 3].map((number) => ({ id: `usr_each_${number}`, name: 'Ada', email: `${number}@example.com` }))
    const [first, second] = await client.user.createManyAndReturn({ data: users })
    expect(counted.statements).toBe(1)
    const updated = await client.user.updateEach([
      { where: { id: 'usr_each_3' }, data: { name: 'Bea', phone: '1' } },
      { where: { id: 'usr_none' }, data: { phone: '2' } },
      { where: { id: 'usr_each_2', updatedAt: new Date(0) }, data: { phone: '2' } },
      { where: { id: 'usr_each_1', ...(first && { updatedAt: first.updatedAt }) }, data: { name: 'Ada' } },
    ])
    expect(counted.statements).toBe(2)
    expect(updated).toMatchObject([{ name: 'Bea', phone: '1', email: '3@example.com' }, null, null, first ?? {}])
    await client.account.create({
      data: { id: 'acc_each', userId: 'usr_each_1', platform: 'X', platformAccountId: 'each', displayName: 'Ada' },
    })
    const deleted = await client.user.deleteEach({
      where: [
        { id: 'usr_each_2', ...(second && { updatedAt: second.updatedAt }) },
        { id: 'usr_each_3', updatedAt: new Date(0) },
        { id: 'usr_each_1' },
      ],
      select: {
        id: true,
        name: true,
        accounts: { select: { id: true, status: true, profile: { select: { id: true } } } },
      },
    })
    expect(counted.statements).toBe(4)
    expect(deleted).toEqual([
      { id: 'usr_each_2', name: 'Ada', accounts: [] },
      null,
      { id: 'usr_each_1', name: 'Ada', accounts: [{ id: 'acc_each', status: 'CONNECTED', profile: null }] },
    ])
    expect(await client.user.count({ where: { id: { startsWith: 'usr_each' } } })).toBe(1)
    expect([await client.user.updateEach([]), await client.user.createMany({ data: [] })]).toEqual([[], { count: 0 }])
  })

  it('changes the time of the last change only if a value is another one', async () => {
    const { updatedAt } = await db.user.create({ data: { id: 'usr_time', name: 'Ada', email: 'a@example.com' } })
    const same = await db.user.update({ where: { id: 'usr_time' }, data: { name: 'Ada', phone: null } })
    expect(same.updatedAt).toEqual(updatedAt)
    const changed = await db.user.update({ where: { id: 'usr_time' }, data: { name: 'Bea' } })
    expect(changed.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime())
  })

  it('changes and deletes rows that have no time of the last change', async () => {
    const data = { id: 'key_1', hash: `hash of ${own}`, name: 'A key', scopes: { set: ['users:read'] } }
    expect(await db.apiKey.create({ data })).toMatchObject({ name: 'A key', scopes: ['users:read'] })
    const changes = { scopes: ['users:write'], revokedAt: new Date(0) }
    expect(await db.apiKey.update({ where: { id: 'key_1' }, data: changes })).toMatchObject(changes)
    // @ts-expect-error: a key has no such time.
    const expected = db.apiKey.update({ where: { id: 'key_1', updatedAt: new Date() }, data: changes })
    await expect(expected).rejects.toMatchObject({ code: 'P2025' })
    expect(await db.apiKey.delete({ where: { id: 'key_1' } })).toMatchObject(changes)
  })

  it('locks rows of the owner in the order of their ids', async () => {
    const where = { id: { in: ['usr_09', 'usr_none', 'usr_08'] } }
    const locked = await db.user.lockMany({ where, strength: 'UPDATE' })
    expect(locked.map(({ id }) => id)).toEqual(['usr_08', 'usr_09'])
    expect(await clientOf({ within: 'usr_08' }).user.lockMany({ where, strength: 'KEY SHARE' })).toEqual([locked[0]])
  })

  it('does not change, delete or count rows of another user', async () => {
    const before = await rowsOf(own)
    const ofUser = clientOf({ within: 'usr_14' })
    const missing = { code: 'P2025', clientVersion: Prisma.prismaVersion.client }
    const [account, { id: profileId } = { id: '' }] = [
      await db.account.findFirst({ where: { userId: 'usr_07' } }),
      (await db.profile.findFirst({ where: { account: { userId: 'usr_07' } } })) ?? undefined,
    ]
    const where = { id: account?.id ?? '' }
    await expect(ofUser.user.update({ where: { id: 'usr_07' }, data: { name: 'Eve' } })).rejects.toMatchObject(missing)
    await expect(ofUser.account.update({ where, data: { displayName: 'Eve' } })).rejects.toMatchObject(missing)
    await expect(ofUser.profile.update({ where: { id: profileId }, data: { country: 'DE' } })).rejects.toMatchObject(
      missing,
    )
    await expect(ofUser.user.delete({ where: { id: 'usr_07' } })).rejects.toMatchObject(missing)
    const deleted = await ofUser.account.deleteEach({ where: [where, where], select: { id: true } })
    expect(deleted).toEqual([null, null])
    const numbers = { _count: true, _max: { platformAccountId: true } } as const
    const mine = { _count: 1, _max: { platformAccountId: 'usr_14' } }
    expect(await ofUser.account.aggregate(numbers)).toEqual(mine)
    const groups = { by: ['userId'], orderBy: { userId: 'asc' }, take: 500, ...numbers } as const
    expect(await ofUser.account.groupBy({ ...groups, by: ['userId'] })).toEqual([{ userId: 'usr_14', ...mine }])
    const link = { id: 'acc_own', platform: 'X', platformAccountId: 'own', displayName: 'Eve' }
    for (const userId of ['usr_07', 'usr_none']) {
      const linked = ofUser.account.createMany({
        data: [
          { ...link, userId: 'usr_14' },
          { ...link, userId },
        ],
      })
      await expect(linked).rejects.toMatchObject({ code: 'P2003' })
    }
    await expect(ofUser.user.create({ data: { id: 'usr_eve', name: 'Eve', email: 'e' } })).rejects.toThrow(
      'must belong',
    )
    const profile = { id: 'prf_own', accountId: where.id, platform: 'X', platformAccountId: 'own' }
    await expect(ofUser.profile.create({ data: profile })).rejects.toThrow('must belong')
    expect(await rowsOf(own)).toEqual(before)
    expect(await ofUser.account.create({ data: { ...link, userId: 'usr_14' } })).toMatchObject(link)
    const moved = ofUser.account.update({ where: { id: 'acc_own' }, data: { userId: 'usr_07' } })
    await expect(moved).rejects.toThrow('An update of Account cannot have: userId')
    expect(await ofUser.account.delete({ where: { id: 'acc_own' } })).toMatchObject({ userId: 'usr_14' })
  })

  it('refuses a tenant, and what it does not support', async () => {
    const user = { id: 'usr_eve', name: 'Eve', email: 'eve@example.com' }
    // @ts-expect-error: the tenant is that of the viewer.
    await expect(db.user.create({ data: { ...user, tenantAppId: 'other' } })).rejects.toThrow(
      'The field tenantAppId is not given',
    )
    // @ts-expect-error: the same.
    const moved = db.user.update({ where: { id: 'usr_01' }, data: { tenantAppId: 'other' } })
    await expect(moved).rejects.toThrow('An update of User cannot have: tenantAppId')
    // @ts-expect-error: a row keeps its id.
    await expect(db.user.update({ where: { id: 'usr_01' }, data: { id: 'usr_eve' } })).rejects.toThrow(
      'cannot have: id',
    )
    // @ts-expect-error: rows of other models are written by themselves.
    await expect(db.user.create({ data: { ...user, accounts: {} } })).rejects.toThrow('User has no column accounts')
    // @ts-expect-error: it has no default.
    await expect(db.user.create({ data: { id: 'usr_eve', name: 'Eve' } })).rejects.toThrow('needs the field email')
    await expect(db.user.update({ where: { id: 'usr_01' }, data: {} })).rejects.toThrow(
      'An update of User cannot have: ',
    )
    const times = { id: true, accounts: { select: { createdAt: true } } } as const
    await expect(db.user.deleteEach({ where: [{ id: 'usr_01' }], select: times })).rejects.toThrow('createdAt')
    const some = { id: true, accounts: { select: { id: true }, take: 1 } } as const
    await expect(db.user.deleteEach({ where: [{ id: 'usr_01' }], select: some })).rejects.toThrow('`take` of accounts')
    const all = { id: true, accounts: true } as const
    await expect(db.user.deleteEach({ where: [{ id: 'usr_01' }], select: all })).rejects.toThrow('needs a `select`')
    // @ts-expect-error: a tenant can have any number of groups.
    await expect(db.user.groupBy({ by: ['name'], _count: true })).rejects.toThrow('groupBy of User needs the argument')
    // @ts-expect-error: groups of all rows are few.
    await expect(db.user.aggregate({ _count: true, skip: 1 })).rejects.toThrow(
      'The argument `skip` of aggregate of User',
    )
    // @ts-expect-error: not a number.
    await expect(db.user.aggregate({ _sum: { name: true } })).rejects.toThrow('The field name is no number')
    // @ts-expect-error: tenants belong to no tenant.
    expect(db.tenantApp).toBeUndefined()
  })
})
