import fc from 'fast-check'
import type { TestApp } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

// Conditions in the terms of Prisma Client, and the rows that they are about.

/** Longer than an entry of an index can be. */
const longName = 'Long 𝒜 '.repeat(1_000)
export const names = ['Ada', 'ada 50%', 'A_da', 'B\\ob', "O'Neil", 'Zoë', longName]
const counts = [null, 0n, 1n, 5n, 9_007_199_254_740_991n]
export const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day, 8, 0, 0, day)))
export const ids = Array.from({ length: 40 }, (_, index) => `usr_${String((index * 7) % 40).padStart(2, '0')}`)

/** Creates two tenants with the same ids. Returns the id of one of them. */
export async function createRows(app: TestApp): Promise<string> {
  const tenants = [await app.createTenant(), await app.createTenant()]
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
  return tenants[0]?.tenantAppId ?? ''
}

const texts = fc.constantFrom('a', 'A', '%', '_', '\\', "'", 'ë', '0%', '', '1@ex', '1')
const times = fc.constantFrom(...days)
const sign = fc.constantFrom('lt', 'gt', 'gte', 'lte')

/** One condition on a field: `fieldsAnd(['name'], …)` ⇒ `{ name: … }`. */
const on = (fields: readonly string[], value: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.tuple(fc.constantFrom(...fields), value).map(([field, given]) => ({ [field]: given }))
const operatorOn = (names: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.tuple(names, value).map(([name, given]) => ({ [name]: given }))

/**
 * What Prisma Client takes as `where` of each model, with all operators and with relations in all directions. Left out
 * is what it takes in another way: it ignores an empty AND, OR or `{}` within others, and for it a condition on the
 * only related row is unknown if a value of that row is null.
 */
export const wheres = fc.letrec<Record<'user' | 'account' | 'profile' | 'itsUser', object>>((tie) => {
  const composed = (leaf: fc.Arbitrary<object>, itself: fc.Arbitrary<object>) =>
    fc.oneof(
      { depthSize: 'small' },
      leaf,
      leaf,
      fc.tuple(leaf, leaf).map(([one, other]) => ({ ...one, ...other })),
      fc.record({ AND: fc.array(itself, { minLength: 1, maxLength: 2 }) }),
      fc.record({ OR: fc.array(itself, { minLength: 1, maxLength: 2 }) }),
      fc.record({ NOT: fc.oneof(itself, fc.array(itself, { minLength: 1, maxLength: 2 })) }),
    )
  const related = (field: string, operators: readonly string[], itself: fc.Arbitrary<object>) =>
    on([field], operatorOn(fc.constantFrom(...operators), itself))
  const search = fc.tuple(fc.subarray(['name', 'email'], { minLength: 1 }), texts).map(([fields, contains]) => {
    return { OR: fields.map((field) => ({ [field]: { contains, mode: 'insensitive' } })) }
  })
  const onTexts = (...fields: string[]) =>
    fc.oneof(
      on(fields, operatorOn(fc.constantFrom('in', 'notIn'), fc.subarray([...names, '1']))),
      on(fields, operatorOn(fc.constantFrom('contains', 'startsWith', 'endsWith', 'not'), texts)),
    )
  const itsUser = fc.oneof(
    onTexts('email', 'name'),
    on(['email', 'name'], fc.constantFrom('1@example.com', 'Ada', longName)),
    search,
    on(['createdAt', 'updatedAt'], operatorOn(sign, times)),
    on(['createdAt'], fc.record({ gte: times, lt: times })),
    on(['id'], operatorOn(fc.constantFrom('in', 'notIn'), fc.subarray(ids))),
    related('accounts', ['some', 'none', 'every'], tie('account')),
  )
  const user = fc.oneof(
    itsUser,
    onTexts('phone'),
    on(['phone'], fc.constantFrom(null, { not: null }, { equals: null }, '1', { not: { in: ['1'] } })),
  )
  const account = fc.oneof(
    on(['platform', 'status'], fc.constantFrom('CONNECTED')),
    on(['platform'], fc.constantFrom('YOUTUBE', 'X', { in: ['X', 'Y'] }, { not: 'X' })),
    on(['status'], fc.constantFrom({ in: ['EXPIRED', 'CONNECTED'] }, { notIn: ['EXPIRED'] }, { not: 'EXPIRED' })),
    related('user', ['is', 'isNot'], tie('itsUser')),
    on(['user'], tie('itsUser')),
    on(['profile'], fc.constantFrom(null, { is: null }, { isNot: null })),
    related('profile', ['is', 'isNot'], on(['platform'], fc.constantFrom('X', { not: 'X' }))),
  )
  const count = fc.constantFrom(0, 1, 4, 9_007_199_254_740_991, -1)
  const profile = fc.oneof(
    on(['followersCount'], operatorOn(fc.oneof(sign, fc.constantFrom('equals', 'not')), count)),
    on(['followersCount', 'verified', 'country'], fc.constantFrom(null, { not: null })),
    on(['verified'], fc.boolean()),
    on(['country'], fc.constantFrom('DE', { in: ['DE', longName] }, longName, { not: 'DE' })),
    related('account', ['is', 'isNot'], tie('account')),
  )
  return {
    user: composed(user, tie('user')),
    itsUser: composed(itsUser, tie('itsUser')),
    account: composed(account, tie('account')),
    profile: composed(profile, tie('profile')),
  }
})

/** The same for an untouched Prisma Client, which takes `%` and `_` in a text as wildcards. */
export function forPrisma(where: unknown): unknown {
  if (Array.isArray(where)) return where.map(forPrisma)
  if (typeof where !== 'object' || where === null || where instanceof Date) return where
  return Object.fromEntries(
    Object.entries(where).map(([name, value]) => {
      const isPattern = ['contains', 'startsWith', 'endsWith'].includes(name)
      return [name, isPattern ? String(value).replace(/[\\%_]/g, '\\$&') : forPrisma(value)]
    }),
  )
}
