import { statement } from '@fusion-gateway/sql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

// Prisma Client reads and writes on PostgreSQL and PGlite by the same adapter.
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const count = statement('SELECT count(*)::integer FROM tenant_app WHERE name = $1')
const countOf = async (name: string) => (await database.sql.query(count, [name]))[0]?.[0]

it('reads values of all types that tables and raw statements have', async () => {
  const rows = await database.prisma.$queryRaw<object[]>`
    SELECT 9007199254740993::bigint AS "bigint", 1.50::numeric AS "numeric", 1.5::real AS "real", true AS "boolean", 'a'::text AS "text",
      'PENDING'::job_status AS "enum", '{"a": [1]}'::jsonb AS "json", decode('00ff', 'hex') AS "bytes", '2026-02-03'::date AS "date",
      '2026-02-03 04:05:06.789+02'::timestamptz AS "time", ARRAY['a', NULL, 'b,"c"'] AS "texts", ARRAY[1, 2] AS "numbers", NULL::text AS "none"`
  expect(rows).toEqual([
    {
      bigint: 9007199254740993n,
      numeric: expect.objectContaining({ s: 1, e: 0, d: [1, 5000000] }),
      real: 1.5,
      boolean: true,
      text: 'a',
      enum: 'PENDING',
      json: { a: [1] },
      bytes: new Uint8Array([0, 255]),
      date: new Date('2026-02-03'),
      time: new Date('2026-02-03T02:05:06.789Z'),
      texts: ['a', null, 'b,"c"'],
      numbers: [1, 2],
      none: null,
    },
  ])
})

const insert = statement('INSERT INTO tenant_app (id, name, updated_at) VALUES ($1, $1, now())')

it.each([
  ['fails', () => Promise.reject(new Error('It failed'))],
  ['takes too long', () => new Promise((resolve) => setTimeout(resolve, 400))],
])('rolls a transaction back that %s, without the statements that others send meanwhile', async (reason, ending) => {
  let other: Promise<unknown> | undefined
  const running = database.prisma.$transaction(
    async (transaction) => {
      await transaction.tenantApp.create({ data: { id: reason, name: reason } })
      other = database.sql.execute(insert, [`other ${reason}`])
      await ending()
      await transaction.tenantApp.count()
    },
    { timeout: 200 },
  )
  await expect(running).rejects.toThrow(/It failed|expired transaction/)
  await other
  expect([await countOf(reason), await countOf(`other ${reason}`)]).toEqual([0, 1])
})

it('writes in a serializable transaction, and refuses a name that exists', async () => {
  const isolationLevel = 'Serializable'
  await database.prisma.$transaction([database.prisma.tenantApp.create({ data: { id: 'ten_1', name: 'Once' } })], {
    isolationLevel,
  })
  await expect(database.prisma.tenantApp.create({ data: { id: 'ten_2', name: 'Once' } })).rejects.toMatchObject({
    code: 'P2002',
  })
  expect(await countOf('Once')).toBe(1)
})
