import type { Sql } from '@fusion-gateway/sql'
import { type Parameter, type Statement, statement, write } from '@fusion-gateway/sql'
import type { Column, DataModel, Model, OwnerField, Table } from '../data-model.ts'
import type { Owner } from '../read/owner.ts'
import { prepared } from './insert.ts'
import { columnsOf, ownershipOf, type Returned, returnedBy, type Select } from './returned.ts'
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

// Writes of rows of one owner, any number of them with one statement. Ids that no such row has are left out. They
// bypass the query engine of Prisma Client, as reads do.

/** Sends statements that write only rows of the owner. */
export interface Writer {
  readonly sql: Sql
  readonly owner: Owner
  readonly model: DataModel
}

/** A row to write. With the time of its last change, it is left as it is if it has changed since. */
export interface Target {
  readonly id: string
  readonly updatedAt?: Date | undefined
}

export interface Locking {
  readonly where: { readonly id: { readonly in: readonly string[] } }
  readonly strength: 'UPDATE' | 'KEY SHARE'
}

type Written = Record<string, unknown>

/** See `ModelWrites`. */
export function lockMany(writer: Writer, modelName: Model, { where, strength }: Locking): Promise<Written[]> {
  const table = writer.model(modelName)
  const returned = columnsOf(table)
  const key = `lock ${modelName} ${strength}`
  return send(writer, modelName, key, returned, [where.id.in], (condition, first) => {
    const rows = `"${table.name}" WHERE ${condition} AND "id" = ANY ($${first})`
    return statement(`SELECT ${returned.list} FROM ${rows} ORDER BY "id" FOR ${strength}`, { mayWait: true })
  })
}

/** A row, and the fields to set, as Prisma Client takes them. */
export interface RowChange {
  readonly where: Target
  readonly data: Change
}

/** What an update cannot set. */
export type FixedField = OwnerField | 'id' | 'updatedAt'

/**
 * See `ModelWrites`. Whether a row is as expected is checked by the statement itself, after it has waited for other
 * writers.
 */
export async function updateEach(
  writer: Writer,
  of: Model,
  changes: readonly RowChange[],
): Promise<(Written | null)[]> {
  if (changes.length === 0) return []
  const table = writer.model(of)
  const named = new Set<string>()
  for (const { data } of changes) for (const field in data) named.add(field)
  const columns = table.columns.filter(({ field }) => named.has(field))
  const isFixed = [writer.model.ownerField, 'id', 'updatedAt'].some((field) => named.has(field))
  // Else the owner within another could give a row of its own away.
  const isMoved = writer.owner.within && table.parents.some(({ field }) => named.has(field))
  if (isFixed || isMoved || columns.length === 0 || columns.length < named.size)
    throw new Error(`An update of ${of} cannot have: ${[...named].join(', ')}`)
  const reads = [
    ...targetValues.map(
      (read) =>
        ({ where }: RowChange) =>
          read(where),
    ),
    ...changeValues(columns).map(
      (read) =>
        ({ data }: RowChange) =>
          read(data),
    ),
  ]
  const arity = arityOf(changes)
  const returned = columnsOf(table)
  const values = givenParameters(
    inOrder(changes, ({ where }) => where.id),
    reads,
    arity,
  )
  const times = isDated(table) ? [new Date().toISOString()] : []
  const key = `update ${of} ${arity} ${columns.map(({ field }) => field).join()}`
  const rows = await send(writer, of, key, returned, [...times, ...values], (condition, first) =>
    write(`${updateText(table, columns, first, arity)} WHERE ${condition} AND ${isGiven(table)}`, returned.list),
  )
  return eachOf(
    changes.map(({ where }) => where),
    rows,
  )
}

/** See `ModelWrites`. Whether a row is as expected is checked as for `updateEach`. */
export async function deleteEach(
  writer: Writer,
  of: Model,
  { where: targets, select }: { readonly where: readonly Target[]; readonly select: Select | undefined },
): Promise<(Written | null)[]> {
  if (targets.length === 0) return []
  const table = writer.model(of)
  const arity = arityOf(targets)
  const returned = select ? returnedBy(writer.model, writer.owner, of, select) : columnsOf(table)
  const values = givenParameters(
    inOrder(targets, ({ id }) => id),
    targetValues,
    arity,
  )
  const rows = await send(writer, of, `delete ${of} ${arity}`, returned, values, (condition, first) => {
    const given = unnestRows(targetColumns, first, arity)
    return write(`DELETE FROM "${table.name}" USING ${given} WHERE ${condition} AND ${isGiven(table)}`, returned.list)
  })
  return eachOf(targets, rows)
}

/**
 * Sends a statement whose first parameters are those of the owner.
 *
 * @param create given the condition on the rows, and the number of the first other parameter
 */
async function send(
  { sql, owner, model }: Writer,
  of: Model,
  key: string,
  returned: Returned,
  values: readonly Parameter[],
  create: (condition: string, first: number) => Statement,
): Promise<Written[]> {
  const { parameters, conditionOn } = ownershipOf(model, owner)
  const sent = prepared(returned, `${key} ${owner.within?.model}`, () => create(conditionOn(of), parameters.length + 1))
  return (await sql.query(sent, [...parameters, ...values])).map(returned.toRow)
}

/** The row of each target; null if it was not written. */
function eachOf(targets: readonly Target[], rows: readonly Written[]): (Written | null)[] {
  const byId = new Map(rows.map((row) => [row['id'], row]))
  return targets.map(({ id }) => byId.get(id) ?? null)
}

const targetColumns = ['id', expectedColumn]
const targetValues: readonly ((target: Target) => GivenValue | undefined)[] = [
  ({ id }) => id,
  ({ updatedAt }) => updatedAt,
]

const isDated = ({ columns }: Table) => columns.some(({ field }) => field === 'updatedAt')

const timeColumn = (table: Table) => `"${table.columnOf('updatedAt').column}"`

const isGiven = (table: Table) => `"id" = "given_id" AND ${isAsExpected(isDated(table) ? timeColumn(table) : 'NULL')}`

/** In the order of the ids, in which others lock them too. */
function inOrder<Given>(rows: readonly Given[], idOf: (row: Given) => string): Given[] {
  return rows.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
}

/** Changes fields of the rows in the table `given`. The first parameter is the time, if the table has it. */
function updateText(table: Table, columns: readonly Column[], first: number, arity: Arity): string {
  const sets = columns.map((column) => `"${column.column}" = ${changedValue(column, `"${column.column}"`)}`)
  const isChange = columns.map((column) => isChangedBy(column, `"${column.column}"`)).join(' OR ')
  const times = isDated(table) ? [timeText(timeColumn(table), isChange, first)] : []
  const given = unnestRows([...targetColumns, ...changeColumns(columns)], first + times.length, arity, columns)
  return `UPDATE "${table.name}" SET ${[...sets, ...times].join(', ')} FROM ${given}`
}

function timeText(column: string, isChange: string, first: number): string {
  return `${column} = CASE WHEN ${isChange} THEN ${timeOfChange(`$${first}`, column)} ELSE ${column} END`
}
