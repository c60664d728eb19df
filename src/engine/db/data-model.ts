import { getDatamodel } from './generated/pothos.ts'
import type { Prisma, PrismaClient } from './generated/prisma/client.ts'

/** The name of a model of schema.prisma. */
export type Model = Prisma.ModelName

/** A row of a model, as Prisma Client returns it. */
export type Row<M extends Model> = Prisma.TypeMap['model'][M]['payload']['scalars']

/** A column and the field of schema.prisma that it stores. */
export interface Column {
  readonly field: string
  readonly column: string
  /** Prisma's name of the type (`String`, `DateTime`, …), or the name of the enum. */
  readonly type: string
  /** PostgreSQL's name of the type: `text`, or `text[]` for a list. */
  readonly sqlType: string
}

/** A table and its columns, in the order of schema.prisma. */
export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The foreign keys within a tenant: the fields that hold the id of a row of a model. */
  readonly parents: readonly { readonly model: Model; readonly field: string }[]
  /** The column of a field. */
  columnOf(field: string): Column
}

/** Returns the table of a model. */
export type DataModel = (model: Model) => Table

interface RuntimeField {
  readonly name: string
  readonly kind: string
  readonly type: string
  readonly dbName?: string | null
  /** Only in the data model for Pothos, like the next one. */
  readonly relationFromFields?: readonly string[]
  readonly isList?: boolean
}

interface RuntimeModel {
  readonly dbName?: string | null
  readonly fields: readonly RuntimeField[]
}

/**
 * Reads tables and columns from the data model in the generated Prisma Client, so that they are named in schema.prisma
 * alone. Prisma keeps the data model in an undocumented property, which Pothos reads too; test/db/batched-read.test.ts
 * fails if it changes.
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

const sqlTypes: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  DateTime: 'timestamptz',
  Json: 'json',
}

function sqlTypeOf({ kind, type }: RuntimeField): string {
  // schema.prisma maps enums to their names in snake case. Prisma's data model does not have the mapping.
  if (kind === 'enum') return type.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase()
  const name = sqlTypes[type]
  if (name === undefined) throw new Error(`Add PostgreSQL's name of the type ${type} to sqlTypes`)
  return name
}

/** The fields of a model in the data model for Pothos, which has foreign keys and lists, unlike that of Prisma Client. */
function pothosFieldsOf(modelName: string): readonly RuntimeField[] {
  const { models } = (getDatamodel() as unknown as { datamodel: { models: Record<string, RuntimeModel> } }).datamodel
  return models[modelName]?.fields ?? []
}

/** The foreign keys `(tenantAppId, field)` of a model. */
function parentsOf(fields: readonly RuntimeField[]): Table['parents'] {
  return fields.flatMap(({ kind, type, relationFromFields: [tenant, field] = [] }) =>
    kind === 'object' && tenant === 'tenantAppId' && field !== undefined ? [{ model: type as Model, field }] : [],
  )
}

function toTable(modelName: string, model: RuntimeModel): Table {
  const pothosFields = pothosFieldsOf(modelName)
  const lists = new Set(pothosFields.flatMap(({ name, isList }) => (isList ? [name] : [])))
  const columns = model.fields
    .filter(({ kind }) => kind !== 'object')
    .map((field) => ({
      field: field.name,
      column: field.dbName ?? field.name,
      type: field.type,
      sqlType: sqlTypeOf(field) + (lists.has(field.name) ? '[]' : ''),
    }))
  return {
    name: model.dbName ?? modelName,
    columns,
    parents: parentsOf(pothosFields),
    columnOf(fieldName) {
      const column = columns.find(({ field }) => field === fieldName)
      if (!column) throw new Error(`${modelName} has no column ${fieldName}`)
      return column
    },
  }
}
