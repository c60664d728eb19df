import { dataModel } from '@fusion-gateway/database'
import type { ListRequest } from '@fusion-gateway/prisma-trees'
import { orderOf } from '@fusion-gateway/prisma-trees'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { withTimeTexts } from './time-texts.ts'
import { createRows, days, forPrisma, ids, names, wheres } from './wheres.ts'

let app: TestApp
let tenantAppId: string

beforeAll(async () => {
  app = await startTestApp()
  tenantAppId = await createRows(app)
})
afterAll(() => app.close())

/** A request, and the same for Prisma Client. */
interface Case {
  readonly request: ListRequest
  readonly where: object
  readonly orderBy: object[]
}

const users: fc.Arbitrary<Case> = fc
  .record({
    where: wheres.user,
    field: fc.constantFrom('createdAt' as const, 'updatedAt' as const, 'name' as const),
    direction: fc.constantFrom('ASC' as const, 'DESC' as const),
    above: fc.option(fc.tuple(fc.nat(6), fc.constantFrom(...ids, 'usr_none')), { nil: undefined }),
    below: fc.option(fc.tuple(fc.nat(6), fc.constantFrom(...ids, 'usr_none')), { nil: undefined }),
    limit: fc.constantFrom(1, 3, 100),
  })
  .map(({ where, field, direction, above, below, limit }): Case => {
    const sort = direction === 'ASC' ? ('asc' as const) : ('desc' as const)
    const order = orderOf(dataModel, 'User', { [field]: sort })
    const values = field === 'name' ? names : days
    const valueAt = (index: number) => values[index % values.length] ?? ''
    const rowAt = (index: number) => withTimeTexts([{ [field]: valueAt(index) }])[0] as Record<string, unknown>
    const positionOf = (place: [number, string] | undefined) =>
      place && { value: order.parameterOf(order.textOf(rowAt(place[0]))) ?? '', id: place[1] }
    const beyond = (place: [number, string] | undefined, sign: 'gt' | 'lt') =>
      place
        ? [
            {
              OR: [
                { [field]: { [sign]: valueAt(place[0]) } },
                { [field]: valueAt(place[0]), id: { [sign]: place[1] } },
              ],
            },
          ]
        : []
    return {
      request: { where, order, direction, above: positionOf(above), below: positionOf(below), limit },
      where: { AND: [forPrisma(where) as object, ...beyond(above, 'gt'), ...beyond(below, 'lt')] },
      orderBy: [{ [field]: sort }, { id: sort }],
    }
  })

it('a list of users returns the same rows and the same count as findMany', async () => {
  await fc.assert(
    fc.asyncProperty(users, async ({ request, where, orderBy }) => {
      const all = { AND: [{ tenantAppId }, where] }
      const expected = await app.database.prisma.user.findMany({ where: all, orderBy, take: request.limit })
      const { reads } = app.database
      expect((await reads.list(app.database.sql, 'User', { id: tenantAppId }, request)).rows).toStrictEqual(
        withTimeTexts(expected),
      )
      const counted = { AND: [{ tenantAppId }, forPrisma(request.where) as object] }
      expect(await reads.count(app.database.sql, 'User', { id: tenantAppId }, request.where)).toBe(
        await app.database.prisma.user.count({ where: counted }),
      )
    }),
    { numRuns: runs(300) },
  )
})

it.each(['Account', 'Profile'] as const)('a list of each %s returns the rows of findMany', async (model) => {
  const name = model === 'Account' ? 'account' : 'profile'
  const client = app.database.prisma[name] as never as { findMany(args: object): Promise<Record<string, unknown>[]> }
  const order = orderOf(dataModel, model, { updatedAt: 'asc' })
  await fc.assert(
    fc.asyncProperty(wheres[name], async (where) => {
      const all = { AND: [{ tenantAppId }, forPrisma(where)] }
      const expected = await client.findMany({ where: all, orderBy: [{ updatedAt: 'asc' }, { id: 'asc' }], take: 100 })
      const request = { where, order, direction: 'ASC', limit: 100 } as const
      const { rows } = await app.database.reads.list(app.database.sql, model, { id: tenantAppId }, request)
      expect(rows.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    }),
    { numRuns: runs(200) },
  )
})

it('a list of profiles by a count returns the rows of findMany, those without a count last', async () => {
  const limits = fc.option(fc.constantFrom(0, 1, 4, 9_007_199_254_740_991), { nil: undefined })
  const directions = fc.constantFrom('ASC' as const, 'DESC' as const)
  await fc.assert(
    fc.asyncProperty(directions, limits, limits, fc.nat(20), async (direction, min, max, start) => {
      const where = {
        followersCount: { ...(min !== undefined && { gte: min }), ...(max !== undefined && { lte: max }) },
      }
      const sort = direction === 'ASC' ? ('asc' as const) : ('desc' as const)
      const expected = await app.database.prisma.profile.findMany({
        where: { AND: [{ tenantAppId }, where] },
        orderBy: [{ followersCount: { sort, nulls: 'last' } }, { id: sort }],
      })
      const order = orderOf(dataModel, 'Profile', { followersCount: { sort, nulls: 'last' } })
      const read = async (given: Partial<ListRequest>) => {
        const request = { where, order, direction, limit: 100, ...given }
        const { rows } = await app.database.reads.list(app.database.sql, 'Profile', { id: tenantAppId }, request)
        return rows.map(({ id }) => id)
      }
      const ids = expected.map(({ id }) => id)
      expect(await read({})).toEqual(ids)
      const row = expected[start % (expected.length || 1)]
      if (!row) return
      const position = { value: order.parameterOf(order.textOf(row)) ?? '', id: row.id }
      const index = ids.indexOf(row.id)
      const [after, before] = direction === 'ASC' ? (['above', 'below'] as const) : (['below', 'above'] as const)
      expect(await read({ [after]: position })).toEqual(ids.slice(index + 1))
      expect(await read({ [before]: position })).toEqual(ids.slice(0, index))
      const backwards = direction === 'ASC' ? 'DESC' : 'ASC'
      expect(await read({ [before]: position, direction: backwards })).toEqual(ids.slice(0, index).toReversed())
    }),
    { numRuns: runs(100) },
  )
})
