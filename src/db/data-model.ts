import type { PrismaClient } from './generated/prisma/client.ts'

/** A column as Prisma knows it: the field's name and type, the column's name. */
export interface Column {
  readonly field: string
  readonly column: string
  /** Prisma's name of the type (`String`, `DateTime`, …), or of the enum. */
  readonly type: string
}

/** A table: its name and its columns, in the order of schema.prisma. */
export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The column of a field. */
  columnOf(field: string): Column
}

/** Finds a model's table. */
export type DataModel = (model: string) => Table

interface RuntimeField {
  readonly name: string
  readonly kind: string
  readonly type: string
  readonly dbName?: string | null
}

interface RuntimeModel {
  readonly dbName?: string | null
  readonly fields: readonly RuntimeField[]
}

/**
 * Tables and columns from the data model that is generated into Prisma Client, so that no column is typed by hand.
 * Prisma keeps it in a property it does not document (Pothos reads the same one): test/batched-read.test.ts holds
 * what is read by it equal to `findMany`.
 */
export function readDataModel(prisma: PrismaClient): DataModel {
  const { models } = (prisma as unknown as { _runtimeDataModel: { models: Record<string, RuntimeModel> } })
    ._runtimeDataModel
  const tables = new Map(Object.entries(models).map(([name, model]) => [name, toTable(name, model)]))
  return (model) => {
    const table = tables.get(model)
    if (!table) throw new Error(`There is no model ${model}`)
    return table
  }
}

function toTable(modelName: string, model: RuntimeModel): Table {
  const columns = model.fields
    .filter((field) => field.kind !== 'object')
    .map((field) => ({ field: field.name, column: field.dbName ?? field.name, type: field.type }))
  return {
    name: model.dbName ?? modelName,
    columns,
    columnOf(fieldName) {
      const column = columns.find(({ field }) => field === fieldName)
      if (!column) throw new Error(`${modelName} has no column ${fieldName}`)
      return column
    },
  }
}
