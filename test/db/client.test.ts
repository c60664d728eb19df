import type { ViewerClient } from '@fusion-gateway/prisma-trees'
import { createLoaders } from '@fusion-gateway/prisma-trees'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { createRows, forPrisma, wheres } from './wheres.ts'

let app: TestApp
let tenantAppId: string
let db: ViewerClient

interface ClientOptions {
  /** The user of a token. */
  readonly within?: string
  readonly counted?: { statements: number }
}

beforeAll(async () => {
  app = await startTestApp()
  tenantAppId = await createRows(app)
  db = clientOf()
})
afterAll(() => app.close())

/** The client of a new request, whose statements are counted. */
function clientOf({ within, counted = { statements: 0 } }: ClientOptions = {}): ViewerClient {
  const { database, services } = app
  const owner = { id: tenantAppId, within: within === undefined ? undefined : { model: 'User' as const, id: within } }
  const atOnce = <Result>(read: () => Promise<Result>) => read()
  const limits = { search: atOnce, objects: atOnce, longModels: services.reading.longModels, maxLength: 1e9 }
  const sql = database.sql.for(counted)
  return database.trees.of({ sql, owner, loaders: createLoaders(sql, database.reads, owner, limits) })
}

describe('the client of a viewer', () => {
  it('returns what an untouched Prisma Client returns', async () => {
    const sort = fc.constantFrom('asc' as const, 'desc' as const)
    const take = fc.constantFrom(0, 1, 2, 100)
    const orderBy = (...fields: string[]) =>
      fc
        .tuple(fc.constantFrom(...fields), sort)
        .map(([field, direction]) => [{ [field]: direction }, { id: direction }])
    const profile = fc.record({ select: fc.constant({ id: true, followersCount: true, createdAt: true }) })
    const accounts = fc.record({
      where: wheres.account,
      orderBy: orderBy('createdAt', 'platform'),
      take,
      select: fc.record({ id: fc.constant(true), platform: fc.constant(true), profile, user: fc.constant(true) }),
    })
    const everything = fc.record({
      where: wheres.user,
      orderBy: orderBy('createdAt', 'name', 'email'),
      take,
      select: fc.record(
        { id: fc.constant(true), name: fc.boolean(), updatedAt: fc.constant(true), accounts },
        { requiredKeys: ['id'] },
      ),
    })
    await fc.assert(
      fc.asyncProperty(everything, async (args) => {
        const { where, ...others } = forPrisma(args) as typeof args
        const expected = await app.database.prisma.user.findMany({
          ...others,
          where: { AND: [{ tenantAppId }, where] },
        } as never)
        expect(await db.user.findMany(args as never)).toEqual(expected)
      }),
      { numRuns: runs(200) },
    )
  })

  it('sends one statement for a nested selection', async () => {
    const counted = { statements: 0 }
    const rows = await clientOf({ counted }).user.findMany({
      where: { accounts: { some: { platform: 'YOUTUBE' } } },
      orderBy: { createdAt: 'desc' },
      take: 5,
      select: { name: true, accounts: { select: { platform: true, profile: { select: { followersCount: true } } } } },
    })
    const [first] = rows
    expect(first?.accounts[0]?.platform).toBe('YOUTUBE')
    expect([rows.length, counted.statements]).toEqual([5, 1])
  })

  it('includes relations, counts, and finds the first row or null', async () => {
    const [row] = await db.user.findMany({ take: 1, where: { id: 'usr_01' }, include: { accounts: true } })
    expect(row).toEqual(
      await app.database.prisma.user.findFirst({ where: { tenantAppId, id: 'usr_01' }, include: { accounts: true } }),
    )
    expect(await db.user.count({ where: { phone: null } })).toBe(20)
    expect(await db.user.findFirst({ where: { id: 'usr_none' } })).toBeNull()
    expect((await db.user.findFirst({ orderBy: { email: 'desc' } }))?.email).toBe('2@example.com')
  })

  it('reads only what belongs to the user of a token', async () => {
    const ofUser = clientOf({ within: 'usr_01' })
    expect(await ofUser.user.findMany({ take: 500, select: { id: true } })).toEqual([{ id: 'usr_01' }])
    const accounts = await ofUser.account.findMany({ take: 500 })
    expect(accounts.map(({ userId }) => userId)).toEqual(['usr_01'])
    expect(await ofUser.user.count({ where: { OR: [{ id: 'usr_02' }, { NOT: { id: 'usr_02' } }] } })).toBe(1)
    expect(await ofUser.user.findFirst({ where: { id: 'usr_02' } })).toBeNull()
  })

  it('reads the same conditions of two models by the columns of each', async () => {
    const where = { updatedAt: { gt: new Date(0) }, id: { in: ['usr_01', 'prf_usr_01'] } }
    expect(await db.user.findMany({ where, take: 2, select: { id: true } })).toEqual([{ id: 'usr_01' }])
    expect(await db.profile.findMany({ where, take: 2, select: { id: true } })).toEqual([{ id: 'prf_usr_01' }])
    const ofTexts = { country: 'DE' }
    expect(await db.profile.count({ where: ofTexts })).toBe(0)
    await expect(db.user.findMany({ where: ofTexts as never, take: 1 })).rejects.toThrow('User has no column country')
  })

  it('says what it does not support', async () => {
    // @ts-expect-error: a list needs a bound.
    await expect(db.user.findMany({})).rejects.toThrow('findMany of User needs the argument `take`')
    await expect(db.user.findMany({ take: 501 })).rejects.toThrow('must be from 0 to 500')
    // @ts-expect-error: pages have cursors of their own.
    await expect(db.user.findMany({ take: 1, skip: 1 })).rejects.toThrow('The argument `skip` of findMany of User')
    // @ts-expect-error: one of several operations.
    expect(() => db.user.deleteMany({})).toThrow('the client of a viewer: use `deleteEach`')
    const search = { name: { search: 'ada' } }
    await expect(db.user.findMany({ take: 1, where: search as never })).rejects.toThrow(
      'The condition `search` on name of the table user is not supported',
    )
    await expect(db.profile.findMany({ take: 1, orderBy: { country: 'asc' } })).rejects.toThrow(
      'The order {"country":"asc"} of the table profile is not supported: README.md of prisma-trees',
    )
    await expect(db.account.findMany({ take: 1, include: { profile: { where: {} } } as never })).rejects.toThrow(
      'Account.profile is one row',
    )
    await expect(db.user.findMany({ take: 1, include: {}, select: {} } as never)).rejects.toThrow('give one of them')
    await expect(db.user.findMany({ take: 1, select: { nothing: true } as never })).rejects.toThrow(
      'User has no column nothing',
    )
  })
})
