import { hashText } from '@fusion-gateway/citus'
import { statement } from '@fusion-gateway/sql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

it('the hash of a tenant is that of the database, for texts of all lengths', async () => {
  const characters = [...'ten_é€😀0123456789-abcdefghijklmnopqrstuvwxyz']
  const texts = characters.map((_, length) => characters.slice(0, length).join(''))
  const rows = await database.sql.query(statement('SELECT hashtext(text) FROM unnest($1::text[]) AS text'), [texts])
  expect(texts.map(hashText)).toEqual(rows.map(([hash]) => hash))
})
