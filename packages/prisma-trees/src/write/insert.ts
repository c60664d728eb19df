import type { Sql } from '@fusion-gateway/sql'
import { type Parameter, type Statement, write } from '@fusion-gateway/sql'
import type { Table } from '../data-model.ts'
import type { Returned } from './returned.ts'
import { type Arity, arityOf, type GivenValue, givenValue, toText, unnestRows } from './unnest.ts'

/**
 * How to insert a row that exists. `fail`: that is an error. `skip`: rows that violate a unique constraint are left
 * out. `update`: if the id exists, or the key of a model without one, these fields are updated; a row that violates another
 * constraint is an error.
 */
type OnConflict = 'fail' | 'skip' | { readonly update: readonly string[]; readonly key?: readonly string[] }

export type InsertedRow = Readonly<Record<string, GivenValue>>

const statements = new WeakMap<Pick<Returned, 'list'>, Map<string, Statement>>()

/** Creates a statement once for what it returns. */
export function prepared(returned: Pick<Returned, 'list'>, key: string, create: () => Statement): Statement {
  const ofReturned = statements.get(returned) ?? new Map<string, Statement>()
  const known = ofReturned.get(key) ?? create()
  statements.set(returned, ofReturned.set(key, known))
  return known
}

const nothing: Pick<Returned, 'list'> = { list: '1' }

/**
 * Inserts any number of rows with one statement: the values of a column are one array parameter.
 *
 * @param rows rows with the same fields
 * @returns the number of rows that were inserted or changed
 */
export async function insertRows(
  sql: Sql,
  table: Table,
  rows: readonly InsertedRow[],
  onConflict: OnConflict = 'skip',
): Promise<number> {
  if (rows.length === 0) return 0
  // Citus also counts the rows that it leaves out, and does not return them.
  const [insert, values] = insertOf(table, rows, onConflict, nothing)
  return sql.execute(insert, values)
}

/** Inserts rows, and returns them. Rows that violate a unique constraint are left out. */
export async function insertReturning(sql: Sql, table: Table, rows: readonly InsertedRow[], returned: Returned) {
  if (rows.length === 0) return []
  const [insert, values] = insertOf(table, rows, 'skip', returned)
  return (await sql.query(insert, values)).map(returned.toRow)
}

function insertOf(
  table: Table,
  rows: readonly InsertedRow[],
  onConflict: OnConflict,
  returned: Pick<Returned, 'list'>,
) {
  const [first = {}] = rows
  const fields = Object.keys(first)
  const arity = arityOf(rows)
  const isKnown = typeof onConflict === 'string'
  const key = `insert ${table.name} ${arity} ${fields.join()} ${isKnown ? onConflict : onConflict.update.join()}`
  const insert = prepared(returned, key, () =>
    // Where no row can be left out, they need not be returned to be counted.
    write(insertText(table, fields, onConflict, arity), onConflict === 'fail' ? undefined : returned.list),
  )
  const textOf = (row: InsertedRow, field: string) => toText(row[field] ?? null)
  const values: Parameter[] = fields.map((field) =>
    arity === 'one' ? textOf(first, field) : rows.map((row) => textOf(row, field)),
  )
  return [insert, values] as const
}

function insertText(table: Table, fields: readonly string[], onConflict: OnConflict, arity: Arity): string {
  const columns = fields.map((field) => table.columnOf(field))
  const names = columns.map(({ column }) => column)
  // One row is not a table: it costs less, and Citus routes it.
  const one = `VALUES (${columns.map(({ sqlType }, index) => `$${index + 1}::${sqlType}`).join(', ')})`
  const many = `SELECT ${columns.map(givenValue).join(', ')} FROM ${unnestRows(names, 1)}`
  const list = names.map((name) => `"${name}"`).join(', ')
  return `INSERT INTO "${table.name}" (${list}) ${arity === 'one' ? one : many}${conflictClause(table, onConflict)}`
}

function conflictClause(table: Table, onConflict: OnConflict): string {
  if (onConflict === 'fail') return ''
  if (onConflict === 'skip') return ' ON CONFLICT DO NOTHING'
  const columns = onConflict.update.map((field) => table.columnOf(field))
  const key = (onConflict.key ?? ['id']).map((field) => `"${table.columnOf(field).column}"`)
  // The type json has no equality, but PostgreSQL stores it as text, so the text is compared.
  const valuesOf = (source: string) =>
    columns.map(({ column, type }) => `${source}."${column}"${type === 'Json' ? '::text' : ''}`).join(', ')
  return (
    ` ON CONFLICT ("${table.owner}", ${key.join(', ')}) DO UPDATE SET ` +
    columns.map(({ column }) => `"${column}" = excluded."${column}"`).join(', ') +
    ` WHERE (${valuesOf(`"${table.name}"`)}) IS DISTINCT FROM (${valuesOf('excluded')})`
  )
}
