import { createDatabase, type Database } from '@fusion-gateway/database'
import { newestFirst } from '@fusion-gateway/prisma-trees'
import { createConnectionClass, isDatabaseUnavailable, openPostgres, statement } from '@fusion-gateway/sql'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { hasServer, runAsAdmin } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

describe.skipIf(!hasServer)('the prepared statements of a connection', () => {
  let template: TestDatabase
  let database: Database
  beforeAll(async () => {
    template = await createTestDatabase()
    // All statements use one connection, so its prepared statements can be counted.
    database = await createDatabase(openPostgres(template.url ?? '', locationOf(template.url ?? '', { size: 1 })))
  })
  afterAll(async () => {
    await database.close()
    await template.close()
  })

  async function preparedStatements(): Promise<string[]> {
    const rows = await database.prisma.$queryRaw<{ statement: string }[]>`SELECT statement FROM pg_prepared_statements`
    return rows.map(({ statement }) => statement)
  }

  it('are the same for pages of every size, because a limit is a parameter', async () => {
    const { reads } = database
    const request = { where: {}, order: newestFirst, direction: 'DESC' } as const
    for (let limit = 1; limit <= 200; limit += 1)
      await reads.list(database.sql, 'User', { id: 'ten_1' }, { ...request, limit })
    expect((await preparedStatements()).filter((sql) => sql.includes('FROM "user"'))).toHaveLength(1)
  })

  it('are not those of filters that clients compose, because their texts have no bound', async () => {
    const { reads } = database
    const before = await preparedStatements()
    for (const composed of [
      { accounts: { some: { NOT: { platform: 'X' } } } },
      { accounts: { some: { OR: [{ platform: 'X' }] } } },
      { accounts: { some: { platform: 'X', status: 'CONNECTED' } } },
      { accounts: { some: { profile: { country: null } } } },
      { accounts: { none: {} } },
      { NOT: { name: 'Ada' } },
      { phone: { not: null } },
      { AND: [{ name: 'Ada' }, { name: 'Bob' }] },
      { name: { notIn: ['Ada'] } },
      { phone: { contains: '1' } },
    ]) {
      const request = { where: composed, order: newestFirst, direction: 'DESC', limit: 20 } as const
      await reads.list(database.sql, 'User', { id: 'ten_1' }, request)
      await reads.count(database.sql, 'User', { id: 'ten_1' }, composed)
    }
    expect(await preparedStatements()).toEqual(before)
  })

  it('are at most 200, and the least recently used one is closed', async () => {
    const select = (number: number) => database.sql.query(statement(`SELECT ${number}`))
    for (let number = 0; number < 300; number += 1) {
      expect(await select(number)).toEqual([[number]])
      expect(await select(0)).toEqual([[0]])
    }
    const prepared = await preparedStatements()
    expect(prepared).toHaveLength(200)
    expect(prepared).toEqual(expect.arrayContaining(['SELECT 0', 'SELECT 299']))
    expect(prepared).not.toContain('SELECT 1')
    // A closed statement is prepared again.
    expect(await select(1)).toEqual([[1]])
  })

  it('are prepared again when the type of a column has changed or the server has dropped them', async () => {
    const Connection = createConnectionClass(5_000)
    const client = new Connection({ connectionString: template.url })
    await client.connect()
    const send = (config: pg.QueryConfig | string) =>
      new Promise<unknown[]>((resolve, reject) => {
        client.query(config, (error, result) => (error ? reject(error) : resolve(result.rows)))
      })
    const select = { name: 'select_changing', text: 'SELECT value FROM changing', values: [] }
    await send('CREATE TEMP TABLE changing AS SELECT 1 AS value')
    expect(await send(select)).toEqual([{ value: 1 }])
    await send('ALTER TABLE changing ALTER value TYPE text')
    expect(await send(select)).toEqual([{ value: '1' }])
    await send('DEALLOCATE ALL')
    expect(await send(select)).toEqual([{ value: '1' }])
    await send('ALTER TABLE changing ALTER value TYPE int USING 1')
    await send('BEGIN')
    const error = await send(select).catch((reason: unknown) => reason)
    expect(isDatabaseUnavailable(error)).toBe(true)
    await send('ROLLBACK')
    expect(await send(select)).toEqual([{ value: 1 }])
    await client.end()
  })

  it('are not changed by settings of the database that would change results', async () => {
    const { url = '' } = template
    const database = new URL(url).pathname.slice(1)
    const others = {
      array_nulls: 'off',
      transform_null_equals: 'on',
      gin_fuzzy_search_limit: '1',
      quote_all_identifiers: 'on',
      bytea_output: 'escape',
      IntervalStyle: 'iso_8601',
      backslash_quote: 'off',
      standard_conforming_strings: 'off',
      extra_float_digits: '-3',
      DateStyle: 'SQL, DMY',
      TimeZone: 'Asia/Tokyo',
    }
    for (const [setting, value] of Object.entries(others))
      await runAsAdmin(`ALTER DATABASE "${database}" SET ${setting} = '${value}'`)
    const other = await createDatabase(openPostgres(url, locationOf(url, { size: 1 })))
    const settings = Object.keys(others)
      .map((setting) => `'${setting}', current_setting('${setting}')`)
      .join(', ')
    const [row] = await other.sql.query(
      statement(`SELECT json_build_object(${settings})::text, '{NULL}'::text[] = ARRAY[NULL]`),
    )
    await other.close()
    expect(JSON.parse(String(row?.[0]))).toEqual({
      array_nulls: 'on',
      transform_null_equals: 'off',
      gin_fuzzy_search_limit: '0',
      quote_all_identifiers: 'off',
      bytea_output: 'hex',
      IntervalStyle: 'postgres',
      backslash_quote: 'safe_encoding',
      standard_conforming_strings: 'on',
      extra_float_digits: '1',
      DateStyle: 'ISO, MDY',
      TimeZone: 'UTC',
    })
    expect(row?.[1]).toBe(true)
  })

  it('return the right rows when many are sent at once', async () => {
    const numbers = Array.from({ length: 1_000 }, (_, index) => index)
    const reads = numbers.map((number) => database.sql.query(statement(`SELECT ${number}::int`, { isShortRead: true })))
    expect((await Promise.all(reads)).map(([row]) => row?.[0])).toEqual(numbers)
    expect(await preparedStatements()).toHaveLength(200)
  })
})
