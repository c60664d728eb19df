import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { columnType } from './column-types.ts'
import type { DataModel, Table } from './data-model.ts'

/** A value of a row to insert: text, or what PostgreSQL reads from its text. */
export type InsertValue = string | number | bigint | boolean | Date | null

/** What happens to a row whose id is there already: it is passed over, or these fields of it are written where they differ. */
export type OnConflict = 'pass over' | { readonly update: readonly string[] }

/** Rows to insert: the fields that they give, and their values in that order. Other columns get their default. */
export interface InsertRows {
  readonly fields: readonly string[]
  readonly rows: readonly (readonly InsertValue[])[]
  readonly onConflict?: OnConflict
}

/**
 * Inserts many rows with one statement, whatever their number: a column is one array parameter.
 *
 * @returns how many rows were inserted or changed
 */
export function insertRows(
  sql: SqlQueryable,
  model: DataModel,
  modelName: string,
  { fields, rows, onConflict = 'pass over' }: InsertRows,
): Promise<number> {
  if (rows.length === 0) return Promise.resolve(0)
  return sql.executeRaw({
    sql: insertStatement(model(modelName), fields, onConflict),
    args: fields.map((_, index) => rows.map((row) => toText(row[index] ?? null))),
    argTypes: fields.map(() => ({ scalarType: 'string', arity: 'list' })),
  })
}

function insertStatement(table: Table, fields: readonly string[], onConflict: OnConflict): string {
  const columns = fields.map((field) => table.columnOf(field))
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  const values = columns.map(({ column, type }) => `"${column}"::${columnType(type)}`).join(', ')
  const arrays = columns.map((_, index) => `$${index + 1}::text[]`).join(', ')
  return (
    `INSERT INTO "${table.name}" (${names}) SELECT ${values} ` +
    `FROM unnest(${arrays}) AS given (${names}) ${conflictClause(table, onConflict)}`
  )
}

function conflictClause(table: Table, onConflict: OnConflict): string {
  if (onConflict === 'pass over') return 'ON CONFLICT DO NOTHING'
  const columns = onConflict.update.map((field) => table.columnOf(field))
  // json has no equality of its own; its text is what is kept, so its text is what is compared.
  const side = (of: string) =>
    columns.map(({ column, type }) => `${of}."${column}"${type === 'Json' ? '::text' : ''}`).join(', ')
  return (
    `ON CONFLICT (tenant_app_id, id) DO UPDATE SET ` +
    columns.map(({ column }) => `"${column}" = excluded."${column}"`).join(', ') +
    ` WHERE (${side(`"${table.name}"`)}) IS DISTINCT FROM (${side('excluded')})`
  )
}

function toText(value: InsertValue): string | null {
  if (value === null) return null
  return value instanceof Date ? value.toISOString() : String(value)
}
