import type { Prisma } from '@fusion-gateway/database'
import type { Branch } from '@fusion-gateway/prisma-trees'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountsOfUser } from '../../src/domain/account/account.ts'
import { emailsOfProfile } from '../../src/domain/profile/email-record.ts'
import { profileOfAccount } from '../../src/domain/profile/profile.ts'
import { userById } from '../../src/domain/user/user.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { runs } from '../support/runs.ts'
import { withTimeTexts } from './time-texts.ts'

interface Json {
  readonly phoneNumbers?: unknown
  readonly addresses?: unknown
}

let database: TestDatabase
const tenantAppId = 'tenant'

beforeAll(async () => {
  database = await createTestDatabase()
  await database.prisma.tenantApp.create({ data: { id: tenantAppId, name: 'Tenant' } })
})
afterAll(() => database.close())

/** Characters of all kinds, those that JSON escapes more often. */
const character = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.constantFrom('"', '\\', '/', '\n', '\u001e', '\u2028', '\u007f'),
)
/** Any text that PostgreSQL can hold. */
const text = fc.string({ unit: character, maxLength: 40 }).map((value) => value.replaceAll('\0', ''))
const id = fc.string({ unit: character, minLength: 1, maxLength: 30 }).map((value) => value.replaceAll('\0', '0'))
const nullable = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null })
const time = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})
const date = time.map((value) => new Date(value.toISOString().slice(0, 10)))
const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const object = fc
  // Prisma drops the key __proto__ on writing.
  .dictionary(
    text.filter((key) => key !== '__proto__'),
    fc.jsonValue({ maxDepth: 1 }),
    { maxKeys: 4 },
  )
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  // JSON.stringify writes -0 as 0.
  .map((value) => JSON.parse(JSON.stringify(value)) as Prisma.InputJsonObject)
// Prisma writes a float with about 16 digits, which rounds the largest floats out of range.
const float = fc.double({ noNaN: true, min: -1e300, max: 1e300 }).map((value) => (value === 0 ? 0 : value))

const profile = fc.record({
  username: nullable(text),
  description: nullable(text),
  dateOfBirth: nullable(date),
  phoneNumbers: fc.array(object, { maxLength: 3 }),
  addresses: fc.array(object, { maxLength: 3 }),
  followersCount: nullable(bigint),
  watchTimeInHours: nullable(float),
  joinedAt: nullable(time),
  verified: nullable(fc.boolean()),
  createdAt: time,
  updatedAt: time,
})

const job = fc.record({
  status: fc.constantFrom('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'),
  jobType: nullable(text),
  payload: object,
  attempts: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  createdAt: time,
  updatedAt: time,
})

/** user → accounts → user, and → profile → emails. The ids of a row and of those below it are equal. */
const tree: readonly Branch[] = [
  {
    parent: 'User',
    from: 'id',
    relation: accountsOfUser,
    fields: undefined,
    branches: [
      { parent: 'Account', from: 'userId', relation: userById, fields: undefined, branches: [] },
      {
        parent: 'Account',
        from: 'id',
        relation: profileOfAccount,
        fields: undefined,
        branches: [{ parent: 'Profile', from: 'id', relation: emailsOfProfile, fields: undefined, branches: [] }],
      },
    ],
  },
]

/** Rows sorted by their ids. */
const inAnyOrder = (rows: readonly unknown[] = []) =>
  (rows as readonly { id: string }[]).toSorted((one, other) => (one.id < other.id ? -1 : 1))

/** The JSON of a profile as text, in which the order of the keys shows. */
const jsonOf = (profile: object) => JSON.stringify([(profile as Json).phoneNumbers, (profile as Json).addresses])

describe('the batched read', () => {
  const orderBy = [{ createdAt: 'asc' as const }, { id: 'asc' as const }]

  it('returns the same values as findMany for users, accounts, profiles and emails', async () => {
    const { prisma, reads } = database
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 3 }), profile, text, async (ids, values, name) => {
        await prisma.user.deleteMany()
        for (const key of ids) {
          const account = { id: key, platform: 'X', platformAccountId: key }
          await prisma.user.create({ data: { tenantAppId, id: key, name, email: name, createdAt: values.createdAt } })
          await prisma.account.createMany({ data: { ...account, tenantAppId, userId: key, displayName: name } })
          const { id: accountId, ...copied } = account
          await prisma.profile.create({ data: { ...copied, ...values, tenantAppId, id: key, accountId } as never })
          await prisma.emailRecord.create({ data: { tenantAppId, id: key, profileId: key, value: name } })
        }
        const requested = [...ids, 'nobody']
        const where = (by: string) => ({ where: { tenantAppId, [by]: { in: requested } }, orderBy })
        expect(await reads.batch(database.sql, 'User', 'id', { id: tenantAppId }, requested)).toEqual(
          await prisma.user.findMany(where('id')),
        )
        expect(await reads.batch(database.sql, 'Account', 'userId', { id: tenantAppId }, requested)).toEqual(
          await prisma.account.findMany(where('userId')),
        )
        expect(await reads.batch(database.sql, 'Profile', 'accountId', { id: tenantAppId }, requested)).toEqual(
          await prisma.profile.findMany(where('accountId')),
        )
        expect(await reads.batch(database.sql, 'EmailRecord', 'profileId', { id: tenantAppId }, requested)).toEqual(
          await prisma.emailRecord.findMany(where('profileId')),
        )
        const { rows, levels } = await reads.related(database.sql, userById, { id: tenantAppId }, requested, {
          branches: tree,
        })
        // Relations to one row have no order, because a key finds its row.
        const expectedUsers = inAnyOrder(withTimeTexts(await prisma.user.findMany(where('id'))))
        expect(inAnyOrder(rows)).toEqual(expectedUsers)
        const [accounts, users, profiles, emails] = levels.map((level) => level.rows)
        expect(accounts).toEqual(withTimeTexts(await prisma.account.findMany(where('userId'))))
        expect(inAnyOrder(users)).toEqual(expectedUsers)
        const found = inAnyOrder(withTimeTexts(await prisma.profile.findMany(where('accountId'))))
        expect(inAnyOrder(profiles)).toEqual(found)
        expect(inAnyOrder(profiles).map(jsonOf)).toEqual(found.map(jsonOf))
        expect(emails).toEqual(withTimeTexts(await prisma.emailRecord.findMany(where('profileId'))))
      }),
      { numRuns: runs(40) },
    )
  })

  it('returns the same values as findMany for jobs', async () => {
    const { prisma, reads } = database
    await fc.assert(
      fc.asyncProperty(id, job, async (key, values) => {
        await prisma.job.deleteMany()
        await prisma.job.createMany({ data: { ...values, status: values.status as 'PENDING', tenantAppId, id: key } })
        const found = await prisma.job.findMany({ where: { tenantAppId, id: key } })
        expect(found[0]?.payload).toEqual(values.payload)
        const read = await reads.batch(database.sql, 'Job', 'id', { id: tenantAppId }, [key])
        expect(read).toEqual(found)
        expect(JSON.stringify(read[0]?.payload)).toBe(JSON.stringify(found[0]?.payload))
      }),
      { numRuns: runs(60) },
    )
  })

  it('returns the stored times, whatever the time zones of the database and of the process', async () => {
    const { prisma, reads } = database
    const createdAt = new Date('2026-03-29T01:30:00.123Z')
    await prisma.user.deleteMany()
    await prisma.user.create({ data: { tenantAppId, id: 'dst', name: 'n', email: 'e', createdAt } })
    const [byPrisma, byRead] = [
      await prisma.user.findFirst(),
      (await reads.batch(database.sql, 'User', 'id', { id: tenantAppId }, ['dst']))[0],
    ]
    const [{ epoch } = { epoch: 0 }] = await prisma.$queryRaw<{ epoch: number }[]>`
      SELECT extract(epoch FROM created_at)::float8 * 1000 AS epoch FROM "user" WHERE id = 'dst'`
    expect([byPrisma?.createdAt, byRead?.createdAt, new Date(epoch)]).toEqual([createdAt, createdAt, createdAt])
  })
})
