import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Condition, ListRequest } from '../../src/db/read/list.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

let app: TestApp
let tenantAppId: string

const names = ['Ada', 'ada 50%', 'A_da', 'B\\ob', "O'Neil", 'Zoë', '%']
const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day, 8, 0, 0, day)))
const ids = Array.from({ length: 40 }, (_, index) => `usr_${String((index * 7) % 40).padStart(2, '0')}`)

beforeAll(async () => {
  app = await startTestApp()
  const tenants = [await app.createTenant(), await app.createTenant()]
  tenantAppId = tenants[0]?.tenantAppId ?? ''
  for (const tenant of tenants) {
    await app.database.prisma.user.createMany({
      data: ids.map((id, index) => ({
        ...{ id, tenantAppId: tenant.tenantAppId, email: `${index % 3}@example.com`, phone: index % 2 ? null : '1' },
        ...{ name: names[index % names.length] ?? '', createdAt: days[index % 4] ?? new Date() },
        updatedAt: days[index % 3] ?? new Date(),
      })),
    })
  }
})
afterAll(() => app.close())

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: fc.constant('email'), is: fc.constant('=' as const), value: fc.constant('1@example.com') }),
  fc.record({
    field: fc.constant('name'),
    is: fc.constant('contains' as const),
    value: fc.constantFrom('a', 'A', '%', '_', '\\', "'", 'ë', '0%', ''),
  }),
  fc.record({
    field: fc.constantFrom('createdAt', 'updatedAt'),
    is: fc.constantFrom('<' as const, '>' as const, '>=' as const),
    value: fc.constantFrom(...days),
  }),
  fc.record({ field: fc.constant('id'), is: fc.constant('in' as const), value: fc.subarray(ids) }),
)

const place = fc.option(fc.record({ time: fc.constantFrom(...days), id: fc.constantFrom(...ids, 'usr_none') }), {
  nil: undefined,
})

const request: fc.Arbitrary<ListRequest> = fc.record({
  conditions: fc.array(condition, { maxLength: 3 }),
  orderBy: fc.constantFrom('createdAt', 'updatedAt'),
  direction: fc.constantFrom('ASC', 'DESC'),
  above: place,
  below: place,
  limit: fc.constantFrom(1, 3, 100),
})

function toPrismaWhere({ field, is, value }: Condition): object {
  if (is === 'contains') {
    return { [field]: { contains: String(value).replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' } }
  }
  const operators = { '=': 'equals', '<': 'lt', '>': 'gt', '>=': 'gte', in: 'in' } as const
  return { [field]: { [operators[is]]: value } }
}

it('a list returns the same rows and the same count as findMany', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ conditions, orderBy, direction, above, below, limit }) => {
      const where = { AND: [{ tenantAppId }, ...conditions.map(toPrismaWhere)] }
      const beyond = (place: typeof above, sign: 'gt' | 'lt') =>
        place
          ? [{ OR: [{ [orderBy]: { [sign]: place.time } }, { [orderBy]: place.time, id: { [sign]: place.id } }] }]
          : []
      const sort = direction === 'ASC' ? ('asc' as const) : ('desc' as const)
      const expected = await app.database.prisma.user.findMany({
        where: { AND: [where, ...beyond(above, 'gt'), ...beyond(below, 'lt')] },
        orderBy: [{ [orderBy]: sort }, { id: sort }],
        take: limit,
      })
      const { reads } = app.database
      expect(
        (await reads.list('User', { tenantAppId }, { conditions, orderBy, direction, above, below, limit })).rows,
      ).toStrictEqual(expected)
      expect(await reads.count('User', { tenantAppId }, conditions)).toBe(
        await app.database.prisma.user.count({ where }),
      )
    }),
    { numRuns: 200 },
  )
})
