import type { Register } from './register.ts'

type Models = Register['models']

/** The name of a model of schema.prisma, also of one whose rows have no id. */
export type AnyModel = Extract<keyof Models, string>

/** The name of a model whose rows have an id. */
export type Model = { [M in AnyModel]: 'id' extends keyof Models[M]['payload']['scalars'] ? M : never }[AnyModel]

export type OwnerField = Register['owner']

export type OwnedModel = { [M in Model]: OwnerField extends keyof Row<M> ? M : never }[Model]

export type DelegateOf<M extends Model> = Register['client'][Uncapitalize<M>]

export type OperationsOf<M extends Model> = Models[M]['operations']

export type Row<M extends Model> = Models[M]['payload']['scalars']

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

/** A relation to rows of the same owner: the field `from` of a row has the value of `by` of the related rows. */
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
  /** The column that holds the owner of a row. Undefined if its rows have none. */
  readonly owner: string | undefined
  /** The foreign keys within an owner: the fields that hold the id of a row of a model. */
  readonly parents: readonly { readonly model: Model; readonly field: string }[]
  columnOf(field: string): Column
  /** The relation of a field; undefined if the field has a column. */
  relationOf(field: string): RelationField | undefined
}

export interface DataModel {
  (model: AnyModel): Table
  /** The models in the order of schema.prisma. */
  readonly models: readonly Model[]
  readonly ownerField: string
}

/** What the generator writes of schema.prisma, where alone tables and columns are named. */
export type GeneratedTables = Readonly<
  Record<
    string,
    Pick<Table, 'name' | 'columns'> & {
      readonly parents: readonly { readonly model: string; readonly field: string }[]
      readonly relations: readonly (Omit<RelationField, 'model'> & { readonly model: string })[]
    }
  >
>

/**
 * Creates the data model of what the generator has written.
 *
 * @param ownerField the field that holds the owner of a row, such as `blogId`
 */
export function createDataModel(generated: GeneratedTables, ownerField: OwnerField): DataModel {
  const tables = new Map(Object.entries(generated).map(([model, table]) => [model, tableOf(model, table, ownerField)]))
  const find = (model: AnyModel) => {
    const table = tables.get(model)
    if (!table) throw new Error(`There is no model ${model}`)
    return table
  }
  return Object.assign(find, { models: Object.keys(generated) as Model[], ownerField })
}

function tableOf(
  model: string,
  { name, columns, parents, relations }: GeneratedTables[string],
  ownerField: string,
): Table {
  const relationsByField = new Map(relations.map((relation) => [relation.field, relation as RelationField]))
  const byField = new Map(columns.map((column) => [column.field, column]))
  return {
    name,
    columns,
    owner: byField.get(ownerField)?.column,
    parents: parents as Table['parents'],
    columnOf(field) {
      const column = byField.get(field)
      if (!column) throw new Error(`${model} has no column ${field}`)
      return column
    },
    relationOf: (field) => relationsByField.get(field),
  }
}
