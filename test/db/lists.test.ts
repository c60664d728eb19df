import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accountsOfUser } from '../../src/domain/account/account.ts'
import type { Condition, ListRequest } from '../../src/engine/db/read/list.ts'
import { byCount, byText, byTime } from '../../src/engine/db/read/order.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { runs } from '../support/runs.ts'
import { withTimeTexts } from './time-texts.ts'

let app: TestApp
let tenantAppId: string

/** Longer than an entry of an index can be. */
const longName = 'Long 𝒜 '.repeat(1_000)
const names = ['Ada', 'ada 50%', 'A_da', 'B\\ob', "O'Neil", 'Zoë', longName]
const counts = [null, 0n, 1n, 5n, 9_007_199_254_740_991n]
const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day, 8, 0, 0, day)))
const ids = Array.from({ length: 40 }, (_, index) => `usr_${String((index * 7) % 40).padStart(2, '0')}`)

beforeAll(async () => {
  app = await startTestApp()
  const tenants = [await app.createTenant(), await app.createTenant()]
  tenantAppId = tenants[0]?.tenantAppId ?? ''
  for (const tenant of tenants) {
    await app.database.prisma.user.createMany({
      data: ids.map((id, index) => ({
        id,
        tenantAppId: tenant.tenantAppId,
        email: `${index % 3}@example.com`,
        phone: index % 2 ? null : '1',
        name: names[index % names.length] ?? '',
        createdAt: days[index % 4] ?? new Date(),
        updatedAt: days[index % 3] ?? new Date(),
      })),
    })
    const create = factoriesFor(app, tenant)
    for (const [index, userId] of ids.entries()) {
      if (index % 3 === 0) continue
      const account = await create.account(userId, { platform: index % 2 ? 'YOUTUBE' : 'X', platformAccountId: userId })
      await create.profile(account, { id: `prf_${userId}`, followersCount: counts[index % counts.length] ?? null })
    }
  }
})
afterAll(() => app.close())

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    field: fc.constantFrom('email', 'name'),
    is: fc.constantFrom('=' as const, 'long text' as const),
    value: fc.constantFrom('1@example.com', 'Ada', longName),
  }),
  fc.record({
    fields: fc.constantFrom(['name'], ['name', 'email']),
    is: fc.constant('contains' as const),
    value: fc.constantFrom('a', 'A', '%', '_', '\\', "'", 'ë', '0%', '', '1@ex'),
  }),
  fc.record({
    field: fc.constantFrom('createdAt', 'updatedAt'),
    is: fc.constantFrom('<' as const, '>' as const, '>=' as const, '<=' as const),
    value: fc.constantFrom(...days),
  }),
  fc.record({ field: fc.constant('id'), is: fc.constant('in' as const), value: fc.subarray(ids) }),
  fc.record({
    is: fc.constant('some' as const),
    relation: fc.constant(accountsOfUser),
    from: fc.constant('id'),
    where: fc.record({
      field: fc.constant('platform'),
      is: fc.constant('=' as const),
      value: fc.constantFrom('YOUTUBE', 'X'),
    }),
  }),
)

/** A request, and the same in the terms of Prisma. */
interface Case {
  readonly request: ListRequest
  readonly where: object
  readonly orderBy: object[]
}

const users: fc.Arbitrary<Case> = fc
  .record({
    conditions: fc.array(condition, { maxLength: 3 }),
    field: fc.constantFrom('createdAt' as const, 'updatedAt' as const, 'name' as const),
    direction: fc.constantFrom('ASC' as const, 'DESC' as const),
    above: fc.option(fc.tuple(fc.nat(6), fc.constantFrom(...ids, 'usr_none')), { nil: undefined }),
    below: fc.option(fc.tuple(fc.nat(6), fc.constantFrom(...ids, 'usr_none')), { nil: undefined }),
    limit: fc.constantFrom(1, 3, 100),
  })
  .map(({ conditions, field, direction, above, below, limit }): Case => {
    const order = field === 'name' ? byText(field, direction) : byTime(field, direction)
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
    const sort = direction === 'ASC' ? ('asc' as const) : ('desc' as const)
    return {
      request: { conditions, order, direction, above: positionOf(above), below: positionOf(below), limit },
      where: { AND: [...conditions.map(toPrismaWhere), ...beyond(above, 'gt'), ...beyond(below, 'lt')] },
      orderBy: [{ [field]: sort }, { id: sort }],
    }
  })

/** Conditions that consist of others, or are on null, are in test/graphql/filters.test.ts. */
type SimpleCondition = Exclude<Condition, { is: 'all' | 'any' | 'not' | 'long text in' | 'null' | 'long text null' }>

function toPrismaWhere(given: Condition): object {
  const condition = given as SimpleCondition
  switch (condition.is) {
    case 'contains': {
      const contains = condition.value.replace(/[\\%_]/g, '\\$&')
      return { OR: condition.fields.map((field) => ({ [field]: { contains, mode: 'insensitive' } })) }
    }
    case 'some':
      return { accounts: { some: toPrismaWhere(condition.where) } }
    case 'at least':
      return { [condition.field]: { gte: condition.value } }
    case 'at most':
      return { [condition.field]: { lte: condition.value } }
    default: {
      const operators = {
        '=': 'equals',
        'long text': 'equals',
        '<': 'lt',
        '>': 'gt',
        '>=': 'gte',
        '<=': 'lte',
        in: 'in',
      } as const
      return { [condition.field]: { [operators[condition.is]]: condition.value } }
    }
  }
}

it('a list of users returns the same rows and the same count as findMany', async () => {
  await fc.assert(
    fc.asyncProperty(users, async ({ request, where, orderBy }) => {
      const all = { AND: [{ tenantAppId }, where] }
      const expected = await app.database.prisma.user.findMany({ where: all, orderBy, take: request.limit })
      const { reads } = app.database
      expect((await reads.list(app.database.sql, 'User', { tenantAppId }, request)).rows).toStrictEqual(
        withTimeTexts(expected),
      )
      const counted = { AND: [{ tenantAppId }, ...request.conditions.map(toPrismaWhere)] }
      expect(await reads.count(app.database.sql, 'User', { tenantAppId }, request.conditions)).toBe(
        await app.database.prisma.user.count({ where: counted }),
      )
    }),
    { numRuns: runs(300) },
  )
})

it('a list of profiles by a count returns the rows of findMany, those without a count last', async () => {
  const limits = fc.option(fc.constantFrom(0, 1, 4, 9_007_199_254_740_991), { nil: undefined })
  const directions = fc.constantFrom('ASC' as const, 'DESC' as const)
  await fc.assert(
    fc.asyncProperty(directions, limits, limits, fc.nat(20), async (direction, min, max, start) => {
      const conditions: Condition[] = [
        ...(min === undefined ? [] : [{ field: 'followersCount', is: 'at least' as const, value: min }]),
        ...(max === undefined ? [] : [{ field: 'followersCount', is: 'at most' as const, value: max }]),
      ]
      const sort = direction === 'ASC' ? ('asc' as const) : ('desc' as const)
      const expected = await app.database.prisma.profile.findMany({
        where: { AND: [{ tenantAppId }, ...conditions.map(toPrismaWhere)] },
        orderBy: [{ followersCount: { sort, nulls: 'last' } }, { id: sort }],
      })
      const order = byCount('followersCount', direction)
      const read = async (given: Partial<ListRequest>) => {
        const request = { conditions, order, direction, limit: 100, ...given }
        const { rows } = await app.database.reads.list(app.database.sql, 'Profile', { tenantAppId }, request)
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
