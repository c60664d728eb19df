import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Model, Row, Table } from './data-model.ts'
import { selectColumns } from './read/columns.ts'
import { execute, query, statement } from './statement.ts'

/** The value of a column: text, or a value whose text PostgreSQL can read. */
export type InsertValue = string | number | bigint | boolean | Date | null

/** What happens to a row whose id exists: nothing, or the values of these fields replace the existing ones. */
export type OnConflict = 'skip' | { readonly update: readonly string[] }

/** Rows to insert: the fields that they set, and a list of values per row in the same order. */
export interface InsertRows {
  readonly fields: readonly string[]
  readonly rows: readonly (readonly InsertValue[])[]
  readonly onConflict?: OnConflict
}

/** Inserts rows, without the query engine of Prisma Client (docs/decisions/0001-bypass-prisma-client-for-reads.md). */
export interface Inserts {
  /**
   * Inserts one row with one statement. Columns without a value get their default.
   *
   * @returns the row, as Prisma's `create` would return it
   */
  insertRow<M extends Model>(model: M, row: Partial<Row<M>>): Promise<Row<M>>
  /**
   * Inserts any number of rows with one statement: the values of a column are one array parameter.
   *
   * @returns the number of rows that were inserted or changed
   */
  insertRows(model: Model, rows: InsertRows): Promise<number>
}

/** Creates the inserts of a database. */
export function createInserts(sql: SqlQueryable, model: DataModel): Inserts {
  // As many as there are services that insert rows.
  const prepared = new Map<string, ReturnType<typeof prepareRow>>()

  function prepareRow(table: Table, fields: readonly string[]) {
    const { list, toRow } = selectColumns(table)
    const columns = fields.map((field) => table.columnOf(field))
    const names = columns.map(({ column }) => `"${column}"`).join(', ')
    const values = columns.map(({ sqlType }, index) => `$${index + 1}::${sqlType}`).join(', ')
    return { insert: statement(`INSERT INTO "${table.name}" (${names}) VALUES (${values}) RETURNING ${list}`), toRow }
  }

  return {
    async insertRow(modelName, row) {
      const fields = Object.keys(row)
      const key = `${modelName}.${fields}`
      const known = prepared.get(key) ?? prepareRow(model(modelName), fields)
      prepared.set(key, known)
      const [inserted = []] = await query(sql, known.insert, Object.values(row).map(toText))
      return known.toRow(inserted) as Row<typeof modelName>
    },

    async insertRows(modelName, { fields, rows, onConflict = 'skip' }) {
      if (rows.length === 0) return 0
      const insert = statement(insertStatement(model(modelName), fields, onConflict))
      return execute(
        sql,
        insert,
        fields.map((_, index) => rows.map((row) => toText(row[index] ?? null))),
      )
    },
  }
}

function insertStatement(table: Table, fields: readonly string[], onConflict: OnConflict): string {
  const columns = fields.map((field) => table.columnOf(field))
  const names = columns.map(({ column }) => `"${column}"`).join(', ')
  const values = columns.map(({ column, sqlType }) => `"${column}"::${sqlType}`).join(', ')
  const arrays = columns.map((_, index) => `$${index + 1}::text[]`).join(', ')
  return (
    `INSERT INTO "${table.name}" (${names}) SELECT ${values} ` +
    `FROM unnest(${arrays}) AS given (${names}) ${conflictClause(table, onConflict)}`
  )
}

function conflictClause(table: Table, onConflict: OnConflict): string {
  if (onConflict === 'skip') return 'ON CONFLICT DO NOTHING'
  const columns = onConflict.update.map((field) => table.columnOf(field))
  // The type json has no equality. Its text is what is stored, so its text is compared.
  const valuesOf = (source: string) =>
    columns.map(({ column, type }) => `${source}."${column}"${type === 'Json' ? '::text' : ''}`).join(', ')
  return (
    `ON CONFLICT (tenant_app_id, id) DO UPDATE SET ` +
    columns.map(({ column }) => `"${column}" = excluded."${column}"`).join(', ') +
    ` WHERE (${valuesOf(`"${table.name}"`)}) IS DISTINCT FROM (${valuesOf('excluded')})`
  )
}

function toText(value: unknown): string | null {
  if (value === null) return null
  return value instanceof Date ? value.toISOString() : String(value)
}
