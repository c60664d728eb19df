import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Model, Row, Table } from '../data-model.ts'
import { query, type Statement, statement } from '../statement.ts'
import { isIdField, type SelectedColumns, selectColumns } from './columns.ts'
import type { IdField, SelectedRow } from './relation.ts'

/**
 * Reads all rows of a tenant whose field `by` has one of the keys, oldest first, with one statement. They equal those of
 * Prisma's `findMany`, value for value (test/db/batched-read.test.ts).
 *
 * @param fields if given, rows have these fields and the ids; otherwise all fields
 */
export interface BatchedRead {
  <M extends Model>(model: M, by: IdField<M>, tenantAppId: string, keys: readonly string[]): Promise<Row<M>[]>
  <M extends Model>(
    model: M,
    by: IdField<M>,
    tenantAppId: string,
    keys: readonly string[],
    fields: ReadonlySet<string> | undefined,
  ): Promise<SelectedRow<M>[]>
}

interface PreparedRead {
  readonly statement: Statement
  readonly columns: SelectedColumns
}

/**
 * Creates the batched read. It uses the driver adapter directly, because Prisma's query engine costs several times as much
 * as the statement. `= ANY($2)` has one text for any number of keys; Prisma's `IN` has one per number.
 */
export function createBatchedRead(
  sql: SqlQueryable,
  model: DataModel,
  onBatch: (size: number) => void = () => undefined,
): BatchedRead {
  // An operation passes the same set each time (graphql/operation/prepare/prepare.ts), so it is its own key.
  const bySelection = new WeakMap<ReadonlySet<string>, Map<string, PreparedRead>>()

  function prepare(modelName: Model, by: string, fields: ReadonlySet<string> = allFields): PreparedRead {
    const known = bySelection.get(fields) ?? new Map<string, PreparedRead>()
    bySelection.set(fields, known)
    const key = `${modelName}.${by}`
    const read = known.get(key) ?? createRead(model(modelName), by, fields)
    known.set(key, read)
    return read
  }

  async function batch(
    modelName: Model,
    by: string,
    tenantAppId: string,
    keys: readonly string[],
    fields?: ReadonlySet<string>,
  ) {
    onBatch(keys.length)
    const { statement, columns } = prepare(modelName, by, fields)
    const rows = await query(sql, statement, [tenantAppId, keys])
    return rows.map(columns.toRow)
  }
  return batch as BatchedRead
}

const allFields: ReadonlySet<string> = new Set()

function createRead(table: Table, by: string, fields: ReadonlySet<string>): PreparedRead {
  const columns = selectColumns(table, ({ field }) => fields === allFields || isIdField(field) || fields.has(field))
  const text =
    `SELECT ${columns.list} FROM "${table.name}" ` +
    `WHERE "tenant_app_id" = $1 AND "${table.columnOf(by).column}" = ANY($2) ORDER BY "created_at", "id"`
  return { statement: statement(text, { isShortRead: true }), columns }
}
