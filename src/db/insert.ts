import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Table } from './data-model.ts'

/** A value of a row to insert: text, or what PostgreSQL reads from its text. */
export type InsertValue = string | number | bigint | boolean | Date | null

/** PostgreSQL's names of the types that Prisma names otherwise. Enums go by `enumTypes`. */
const columnTypes: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  DateTime: 'timestamptz',
  Json: 'json',
  JobStatus: 'job_status',
}

/**
 * Inserts many rows with one statement, whatever their number: a column is one array parameter. Rows whose key is
 * there already are passed over.
 *
 * @param fields the fields of the model that the rows give, in their order; other columns get their default
 * @returns how many rows were inserted
 */
export function insertRows(
  sql: SqlQueryable,
  model: DataModel,
  modelName: string,
  fields: readonly string[],
  rows: readonly (readonly InsertValue[])[],
): Promise<number> {
  if (rows.length === 0) return Promise.resolve(0)
  return sql.executeRaw({
    sql: insertStatement(model(modelName), fields),
    args: fields.map((_, index) => rows.map((row) => toText(row[index] ?? null))),
    argTypes: fields.map(() => ({ scalarType: 'string', arity: 'list' })),
  })
}

function insertStatement(table: Table, fields: readonly string[]): string {
  const columns = fields.map((field) => table.columnOf(field))
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  const values = columns.map(({ column, type }) => `"${column}"::${columnTypes[type]}`).join(', ')
  const arrays = columns.map((_, index) => `$${index + 1}::text[]`).join(', ')
  return (
    `INSERT INTO "${table.name}" (${names}) SELECT ${values} ` +
    `FROM unnest(${arrays}) AS given (${names}) ON CONFLICT DO NOTHING`
  )
}

function toText(value: InsertValue): string | null {
  if (value === null) return null
  return value instanceof Date ? value.toISOString() : String(value)
}
