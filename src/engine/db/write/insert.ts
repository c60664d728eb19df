import { dataModel, type Model, type Row, type Table } from '../data-model.ts'
import type { Sql } from '../sql.ts'
import { type Parameter, type Statement, write } from '../statement.ts'
import { type Arity, type GivenValue, givenParameters, givenValue, toText, unnestRows } from './unnest.ts'

/**
 * How to insert a row that exists. `skip`: rows that violate a unique constraint are left out. `update`: if the id
 * exists, these fields are updated; a row that violates another constraint is an error.
 */
type OnConflict = 'skip' | { readonly update: readonly string[] }

/** A row to insert: values by field. */
export type InsertedRow = Readonly<Record<string, GivenValue>>

const insertsOfRow = new Map<Model, Statement>()

/** Inserts one row with one statement. The row has a value for every column, so nothing is read back. */
export async function insertRow<M extends Model>(
  sql: Sql,
  model: M,
  row: Row<M> & Readonly<Record<keyof Row<M>, GivenValue>>,
): Promise<void> {
  const table = dataModel(model)
  const insert = insertsOfRow.get(model) ?? write(insertRowText(table))
  insertsOfRow.set(model, insert)
  const values: InsertedRow = row
  await sql.execute(
    insert,
    table.columns.map(({ field }) => toText(values[field] ?? null)),
  )
}

/**
 * Inserts any number of rows with one statement: the values of a column are one array parameter.
 *
 * @param rows rows with the same fields
 * @returns the number of rows that were inserted or changed
 */
export async function insertRows(
  sql: Sql,
  model: Model,
  rows: readonly InsertedRow[],
  onConflict: OnConflict = 'skip',
): Promise<number> {
  const fields = Object.keys(rows[0] ?? {})
  if (fields.length === 0) return 0
  // Citus also counts the rows that it leaves out, and does not return them.
  return sql.execute(
    write(insertRowsText(dataModel(model), fields, onConflict, 'many'), '1'),
    insertParameters(rows, 'many'),
  )
}

function insertRowText({ name, columns }: Table): string {
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  const values = columns.map(({ sqlType }, index) => `$${index + 1}::${sqlType}`).join(', ')
  return `INSERT INTO "${name}" (${names}) VALUES (${values})`
}

/** The parameters of `insertRowsText`, for rows with the same fields. */
export function insertParameters(rows: readonly InsertedRow[], arity: Arity): Parameter[] {
  const fields = Object.keys(rows[0] ?? {})
  return givenParameters(
    rows,
    fields.map((field) => (row) => row[field]),
    arity,
  )
}

export function insertRowsText(table: Table, fields: readonly string[], onConflict: OnConflict, arity: Arity): string {
  const columns = fields.map((field) => table.columnOf(field))
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  const given = unnestRows(
    columns.map(({ column }) => column),
    1,
    arity,
  )
  return (
    `INSERT INTO "${table.name}" (${names}) SELECT ${columns.map(givenValue).join(', ')} ` +
    `FROM ${given} ${conflictClause(table, onConflict)}`
  )
}

function conflictClause(table: Table, onConflict: OnConflict): string {
  if (onConflict === 'skip') return 'ON CONFLICT DO NOTHING'
  const columns = onConflict.update.map((field) => table.columnOf(field))
  // The type json has no equality, but PostgreSQL stores it as text, so the text is compared.
  const valuesOf = (source: string) =>
    columns.map(({ column, type }) => `${source}."${column}"${type === 'Json' ? '::text' : ''}`).join(', ')
  return (
    `ON CONFLICT (tenant_app_id, id) DO UPDATE SET ` +
    columns.map(({ column }) => `"${column}" = excluded."${column}"`).join(', ') +
    ` WHERE (${valuesOf(`"${table.name}"`)}) IS DISTINCT FROM (${valuesOf('excluded')})`
  )
}
