import type { Column, DelegateOf, Model, OwnedModel, OwnerField, Row } from '../data-model.ts'
import { clientVersion, PrismaClientKnownRequestError, type Types } from '../prisma.ts'
import { type InsertedRow, insertReturning, insertRows } from './insert.ts'
import {
  deleteEach,
  type FixedField,
  type Locking,
  lockMany,
  type RowChange,
  type Target,
  updateEach,
  type Writer,
} from './owned-rows.ts'
import { columnsOf } from './returned.ts'
import { type GivenValue, toGiven } from './unnest.ts'

// The writes of the client of a viewer (trees.ts), in the terms of Prisma Client. The owner of the rows is not given.

type Given<Fields> = { readonly [Field in keyof Fields]: Fields[Field] | undefined }
type Inserted<M extends Model> = Exclude<Types.Public.Args<DelegateOf<M>, 'createMany'>['data'], readonly unknown[]>
type Selected<M extends Model, S> = Types.Public.Result<DelegateOf<M>, { select: S }, 'delete'>

/** The values of a new row. What has a default, or can be null, can be left out. */
type NewRow<M extends Model> = Given<Omit<Inserted<M>, OwnerField>> & { readonly [Field in OwnerField]?: never }

/** The row to write. With `updatedAt`, it is left as it is if it has changed since. */
type TargetOf<M extends Model> = 'updatedAt' extends keyof Row<M> ? Target : Pick<Target, 'id'>

interface NewRows<M extends Model> {
  readonly data: readonly NewRow<M>[]
  /** Leaves out rows that violate a unique constraint. */
  readonly skipDuplicates?: boolean
}

interface ChangeOf<M extends Model> {
  readonly where: TargetOf<M>
  /** The fields to set. Those that are absent or undefined keep their value. */
  readonly data: Partial<Given<Omit<Inserted<M>, FixedField>>>
}

/** The writes of a model, with the types of Prisma Client. Each sends one statement. */
export interface ModelWrites<M extends OwnedModel> {
  /** @throws PrismaClientKnownRequestError P2003 if the row would not belong to the row that `within` names */
  create<const S extends { readonly [Field in keyof Row<M>]?: boolean } | undefined = undefined>(args: {
    readonly data: NewRow<M>
    readonly select?: S
  }): Promise<Selected<M, S>>
  createMany(args: NewRows<M>): Promise<{ readonly count: number }>
  createManyAndReturn(args: NewRows<M>): Promise<Row<M>[]>
  /**
   * Changes a row, and the time of its last change if a value is another one.
   *
   * @throws PrismaClientKnownRequestError P2025 if there is no such row
   */
  update(change: ChangeOf<M>): Promise<Row<M>>
  /** Changes each row in its own way. Returns them in the order of the changes; null for one that `update` rejects. */
  updateEach(changes: readonly ChangeOf<M>[]): Promise<(Row<M> | null)[]>
  /**
   * Deletes a row. Foreign keys delete what belongs to it.
   *
   * @throws PrismaClientKnownRequestError P2025 if there is no such row
   */
  delete(args: { readonly where: TargetOf<M> }): Promise<Row<M>>
  /** Deletes each row. Returns what is selected of them and of their relations; null for one that `delete` rejects. */
  deleteEach<const S extends NonNullable<Types.Public.Args<DelegateOf<M>, 'delete'>['select']> & { id: true }>(args: {
    readonly where: readonly TargetOf<M>[]
    readonly select: S
  }): Promise<(Selected<M, S> | null)[]>
  /**
   * Reads rows and locks them until the end of the transaction: `UPDATE` against all other writers, `KEY SHARE` against
   * being deleted. The order of the locks is that of the ids, so that two such calls never wait for each other.
   */
  lockMany(args: Locking): Promise<Row<M>[]>
}

type Data = Readonly<Record<string, unknown>>

type ManyData = { readonly data: readonly Data[]; readonly skipDuplicates?: boolean }

/** What the methods do, by their names. */
export const writes = {
  async create(writer: Writer, modelName: Model, { data, select }: { readonly data: Data; readonly select?: Data }) {
    const [created = {}] = await writes.createManyAndReturn(writer, modelName, { data: [data] })
    return select ? Object.fromEntries(Object.entries(created).filter(([field]) => select[field])) : created
  },

  async createMany(writer: Writer, modelName: Model, { data, skipDuplicates }: ManyData) {
    const rows = toRows(writer, modelName, data)
    return { count: await insertRows(writer.sql, writer.model(modelName), rows, skipDuplicates ? 'skip' : 'fail') }
  },

  async createManyAndReturn(writer: Writer, modelName: Model, { data, skipDuplicates }: ManyData) {
    const { sql, model } = writer
    const table = model(modelName)
    const rows = toRows(writer, modelName, data)
    const returned = columnsOf(table)
    if (skipDuplicates) return insertReturning(sql, table, rows, returned)
    await insertRows(sql, table, rows, 'fail')
    // They have a value for every column, so nothing is read back.
    return rows.map((row) => returned.toRow(table.columns.map(({ field }) => row[field])))
  },

  async update(writer: Writer, modelName: Model, change: RowChange) {
    const [row] = await updateEach(writer, modelName, [change])
    if (!row) throw notFound(modelName, 'an update')
    return row
  },

  async delete(writer: Writer, modelName: Model, { where }: { readonly where: Target }) {
    const [row] = await deleteEach(writer, modelName, { where: [where], select: undefined })
    if (!row) throw notFound(modelName, 'a delete')
    return row
  },

  updateEach,
  deleteEach,
  lockMany,
}

/** Rows with all columns: what is given of them, the owner, and the defaults. */
function toRows({ owner, model }: Writer, modelName: Model, given: readonly Data[]): InsertedRow[] {
  const { columns, parents, columnOf } = model(modelName)
  const { ownerField } = model
  const { within } = owner
  const now = new Date()
  return given.map((data) => {
    for (const field in data)
      if (columnOf(field).field === ownerField) throw new Error(`The field ${ownerField} is not given`)
    // Other rows do not exist for this writer. Whether a row belongs to the one by way of others is not known here.
    if (within && !parents.some((parent) => parent.model === within.model && data[parent.field] === within.id))
      throw rejection('P2003', modelName, `A new row of ${modelName} must belong to the ${within.model} of its writer`)
    const row: Record<string, GivenValue> = {}
    for (const column of columns) {
      const given = column.field === ownerField ? owner.id : toGiven(column, data[column.field])
      row[column.field] = given === undefined ? defaultOf(modelName, column, now) : given
    }
    return row
  })
}

function defaultOf(
  modelName: Model,
  { field, isNow, isNullable, sqlType, default: value }: Column,
  now: Date,
): GivenValue {
  if (isNow) return now
  if (value !== undefined) return value
  if (sqlType.endsWith('[]')) return []
  if (isNullable) return null
  throw new Error(`A new row of ${modelName} needs the field ${field}`)
}

function notFound(modelName: Model, operation: string): Error {
  const cause = `No record was found for ${operation}.`
  return rejection(
    'P2025',
    modelName,
    `An operation failed because it depends on one or more records that were required. ${cause}`,
  )
}

/** What Prisma Client throws. */
function rejection(code: string, modelName: Model, message: string): Error {
  return new PrismaClientKnownRequestError(message, { code, clientVersion, meta: { modelName } })
}
