import type { Prisma, PrismaClient } from './generated/prisma/client.ts'
import { tables as generated } from './generated/tables.ts'

/** The name of a model of schema.prisma. */
export type Model = Prisma.ModelName

/** The models whose rows belong to a tenant. */
export type OwnedModel = { [M in Model]: 'tenantAppId' extends keyof Row<M> ? M : never }[Model]

/** The delegate of a model in Prisma Client. */
export type DelegateOf<M extends Model> = PrismaClient[Uncapitalize<M>]

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
  readonly isNullable: boolean
  /** Whether it has a date without a time. */
  readonly isDate?: true
  /** What a new row has if nothing is given: the time, or a value. JSON is a text. */
  readonly isNow?: true
  readonly default?: string | number | boolean | readonly string[]
  /**
   * What its indexes have instead of the value, as schema.prisma says: the first 200 characters of a text, or a number
   * that is never null.
   */
  readonly index?: 'prefix' | 'nullsLast'
}

/** A relation to rows of the same tenant: the field `from` of a row has the value of `by` of the related rows. */
export interface RelationField {
  readonly field: string
  readonly model: Model
  readonly kind: 'one' | 'many'
  readonly from: string
  readonly by: string
}

/** A table and its columns, in the order of schema.prisma. */
export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The foreign keys within a tenant: the fields that hold the id of a row of a model. */
  readonly parents: readonly { readonly model: Model; readonly field: string }[]
  /** The column of a field. */
  columnOf(field: string): Column
  /** The relation of a field; undefined if the field has a column. */
  relationOf(field: string): RelationField | undefined
}

/** Returns the table of a model. */
export type DataModel = (model: Model) => Table

/** The tables by their models. Prisma's generator writes them from schema.prisma, where alone they are named. */
export const dataModel: DataModel = (model) => {
  const table = tables.get(model)
  if (!table) throw new Error(`There is no model ${model}`)
  return table
}

/** The models in the order of schema.prisma. */
export const models = Object.keys(generated) as Model[]

const tables = new Map<string, Table>(
  Object.entries(generated).map(([model, { name, columns, parents, relations }]) => {
    const relationsByField = new Map<string, RelationField>(relations.map((relation) => [relation.field, relation]))
    const byField = new Map<string, Column>(columns.map((column) => [column.field, column]))
    function columnOf(field: string): Column {
      const column = byField.get(field)
      if (!column) throw new Error(`${model} has no column ${field}`)
      return column
    }
    const relationOf = (field: string) => relationsByField.get(field)
    return [model, { name, columns, parents, columnOf, relationOf }]
  }),
)
