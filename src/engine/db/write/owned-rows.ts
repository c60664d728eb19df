import { dataModel, type Model, type Row, type Table } from '../data-model.ts'
import { type SelectedColumns, selectColumns } from '../read/columns.ts'
import { createOwnerships, type Owner } from '../read/owner.ts'
import type { Sql } from '../sql.ts'
import { type Parameter, type Statement, statement, write } from '../statement.ts'
import { type InsertedRow, insertParameters, insertRowsText } from './insert.ts'
import {
  type Arity,
  arityOf,
  type Change,
  changeColumns,
  changedValue,
  changeValues,
  expectedColumn,
  type GivenValue,
  givenParameters,
  isAsExpected,
  isChangedBy,
  timeOfChange,
  unnestRows,
} from './unnest.ts'

/** Rows by their ids. */
export type RowsById<M extends Model> = ReadonlyMap<string, Row<M>>

/** A row to write. With the time of its last change, it is left as it is if it has changed since. */
export interface Target {
  readonly id: string
  readonly expectedUpdatedAt?: Date | undefined
}

/**
 * The writes of one request. They change rows of one owner only, any number of them with one statement. Ids that no
 * such row has are left out.
 */
export interface OwnedRows {
  /** Reads rows, as they are now. */
  find<M extends Model>(model: M, ids: readonly string[]): Promise<RowsById<M>>
  /**
   * Reads rows and locks them until the end of the transaction: `UPDATE` against all other writers, `KEY SHARE` against
   * being deleted. The order of the locks is that of the ids, so that two such calls never wait for each other.
   */
  lock<M extends Model>(model: M, ids: readonly string[], strength: 'UPDATE' | 'KEY SHARE'): Promise<RowsById<M>>
  /** Inserts rows. Rows that violate a unique constraint are left out. */
  insert<M extends Model>(model: M, rows: readonly Omit<InsertedRow, 'tenantAppId'>[]): Promise<RowsById<M>>
  /**
   * Changes the given fields of rows, and the time of their last change if a value is another one. Whether a row is as
   * expected is checked by the statement itself, after it has waited for other writers.
   */
  update<M extends Model>(
    model: M,
    fields: readonly string[],
    changes: readonly (Change & Target)[],
  ): Promise<RowsById<M>>
  /**
   * Deletes rows. Foreign keys delete what belongs to them. Whether a row is as expected is checked as for `update`.
   *
   * @param values what it also returns of each row: SQL, in which `$1` is the tenant. They see what belongs to the row
   * @returns the values of each deleted row, by its id
   */
  delete(model: Model, targets: readonly Target[], values?: readonly string[]): Promise<ReadonlyMap<string, unknown[]>>
}

const ownershipOf = createOwnerships(dataModel)
const statements = new Map<string, Statement>()
const columns = new Map<Model, SelectedColumns>()

function prepared(key: string, create: () => Statement): Statement {
  const known = statements.get(key) ?? create()
  statements.set(key, known)
  return known
}

function columnsOf(model: Model): SelectedColumns {
  const known = columns.get(model) ?? selectColumns(dataModel(model))
  columns.set(model, known)
  return known
}

/** Returns the writes of an owner. They bypass the query engine of Prisma Client, as reads do. */
export function rowsOf(sql: Sql, owner: Owner): OwnedRows {
  const { parameters, conditionOn } = ownershipOf(owner)
  const kind = owner.within?.model ?? 'tenant'
  /** The number of the first parameter after those of the owner. */
  const first = parameters.length + 1
  const where = (of: Model) => `WHERE ${conditionOn(of)} AND "id" = ANY ($${first})`

  async function rowsById<M extends Model>(of: M, sent: Statement, values: readonly Parameter[]): Promise<RowsById<M>> {
    const found = (await sql.query(sent, values)).map(columnsOf(of).toRow) as Row<M>[]
    return new Map(found.map((row) => [row.id, row]))
  }

  const select = (of: Model) => `SELECT ${columnsOf(of).list} FROM "${dataModel(of).name}" ${where(of)}`

  return {
    find: (of, ids) =>
      rowsById(
        of,
        prepared(`find ${of} ${kind}`, () => statement(select(of))),
        [...parameters, ids],
      ),

    lock(of, ids, strength) {
      const lock = prepared(`lock ${of} ${kind} ${strength}`, () =>
        statement(`${select(of)} ORDER BY "id" FOR ${strength}`, { mayWait: true }),
      )
      return rowsById(of, lock, [...parameters, ids])
    },

    async insert<M extends Model>(of: M, rows: readonly InsertedRow[]): Promise<RowsById<M>> {
      if (rows.length === 0) return new Map()
      const own = rows.map((row) => ({ ...row, tenantAppId: owner.tenantAppId }))
      const fields = Object.keys(own[0] as object)
      const arity = arityOf(rows)
      const insert = prepared(`insert ${of} ${arity} ${fields.join()}`, () =>
        write(insertRowsText(dataModel(of), fields, 'skip', arity), columnsOf(of).list),
      )
      return rowsById(of, insert, insertParameters(own, arity))
    },

    update(of, fields, changes) {
      const table = dataModel(of)
      const changed = fields.map((field) => table.columnOf(field))
      const arity = arityOf(changes)
      const text = () => `${updateText(table, fields, first, arity)} WHERE ${conditionOn(of)} AND ${isGiven}`
      const update = prepared(`update ${of} ${kind} ${arity} ${fields.join()}`, () => write(text(), columnsOf(of).list))
      return rowsById(of, update, [
        ...parameters,
        new Date().toISOString(),
        ...givenParameters(inOrder(changes), [...targetValues, ...changeValues(changed)], arity),
      ])
    },

    async delete(of, targets, values = []) {
      const arity = arityOf(targets)
      const given = unnestRows(targetColumns, first, arity)
      const returning = ['"id"', ...values].join(', ')
      const remove = prepared(`delete ${of} ${kind} ${arity} ${returning}`, () =>
        write(`DELETE FROM "${dataModel(of).name}" USING ${given} WHERE ${conditionOn(of)} AND ${isGiven}`, returning),
      )
      const deleted = await sql.query(remove, [
        ...parameters,
        ...givenParameters(inOrder(targets), targetValues, arity),
      ])
      return new Map(deleted.map(([id, ...others]) => [String(id), others]))
    },
  }
}

const targetColumns = ['id', expectedColumn]
const targetValues: readonly ((target: Target) => GivenValue | undefined)[] = [
  ({ id }) => id,
  ({ expectedUpdatedAt }) => expectedUpdatedAt,
]
const isGiven = `"id" = "given_id" AND ${isAsExpected('"updated_at"')}`

/** In the order of the ids, in which others lock them too. */
function inOrder<Row extends Target>(targets: readonly Row[]): Row[] {
  return targets.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** Changes fields of the rows in the table `given`. The first parameter is the time. */
function updateText(table: Table, fields: readonly string[], first: number, arity: Arity): string {
  const columns = fields.map((field) => table.columnOf(field))
  const sets = columns.map((column) => `"${column.column}" = ${changedValue(column, `"${column.column}"`)}`)
  const isChange = columns.map((column) => isChangedBy(column, `"${column.column}"`)).join(' OR ')
  return (
    `UPDATE "${table.name}" SET ${sets.join(', ')}, ` +
    `"updated_at" = CASE WHEN ${isChange} THEN ${timeOfChange(`$${first}`, '"updated_at"')} ELSE "updated_at" END ` +
    `FROM ${unnestRows([...targetColumns, ...changeColumns(columns)], first + 1, arity, columns)}`
  )
}
