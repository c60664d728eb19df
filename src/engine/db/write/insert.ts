import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Model, Row, Table } from '../data-model.ts'
import { execute, type Parameter, type Statement, statement } from '../statement.ts'
import { type Arity, type GivenValue, givenParameters, givenTable, givenValue, toText } from './given.ts'

/**
 * How to insert a row that exists. `skip`: rows that violate a unique constraint are left out. `update`: if the id
 * exists, these fields are updated; a row that violates another constraint is an error.
 */
type OnConflict = 'skip' | { readonly update: readonly string[] }

/** A row to insert: values by field. */
export type InsertedRow = Readonly<Record<string, GivenValue>>

export type Inserts = ReturnType<typeof createInserts>

/**
 * Creates the inserts of a database, without the query engine of Prisma Client
 * (docs/decisions/0001-bypass-prisma-client-for-reads.md).
 */
export function createInserts(sql: SqlQueryable, model: DataModel) {
  const insertsOfRow = new Map<Model, Statement>()

  return {
    /** Inserts one row with one statement. The row has a value for every column, so nothing is read back. */
    async insertRow<M extends Model>(
      modelName: M,
      row: Row<M> & Readonly<Record<keyof Row<M>, GivenValue>>,
    ): Promise<void> {
      const table = model(modelName)
      const insert = insertsOfRow.get(modelName) ?? statement(insertRowText(table))
      insertsOfRow.set(modelName, insert)
      const values: InsertedRow = row
      const parameters = table.columns.map(({ field }) => toText(values[field] ?? null))
      await execute(sql, insert, parameters)
    },

    /**
     * Inserts any number of rows with one statement: the values of a column are one array parameter.
     *
     * @param rows rows with the same fields
     * @returns the number of rows that were inserted or changed
     */
    async insertRows(modelName: Model, rows: readonly InsertedRow[], onConflict: OnConflict = 'skip'): Promise<number> {
      const fields = Object.keys(rows[0] ?? {})
      if (fields.length === 0) return 0
      const insert = statement(insertRowsText(model(modelName), fields, onConflict, 'many'))
      return execute(sql, insert, insertParameters(rows, 'many'))
    },
  }
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
  const given = givenTable(
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
