import type { Model, Row } from '../data-model.ts'

export type IdField<M extends Model> = Extract<keyof Row<M>, 'id' | `${string}Id`>

/** A row with the only field that is always read: its id. Other fields are read if the operation needs them. */
export type SelectedRow<M extends Model> = Pick<Row<M>, 'id'>

/** A row as the parent of fields. A resolver may read only the column of its name, or ids of relations. */
export function asParent<M extends Model>(row: SelectedRow<M>): Row<M> {
  return row as Row<M>
}

/** A read of rows by an id: the row that has it, or all rows that have it. A resource declares its relations once. */
export interface Relation<M extends Model = Model, Result = unknown> {
  readonly kind: 'one' | 'many'
  readonly model: M
  /** The field that holds the id. */
  readonly by: string
  /** Only for types: what loading the relation returns. */
  readonly result?: Result
}

const relations = new Map<string, Relation>()

/** The relation of a field, or another with its rows. They are one object, by which what was read is remembered. */
export function relationTo({ kind, model, by }: Pick<Relation, 'kind' | 'model' | 'by'>): Relation {
  const key = `${kind} ${model}.${by}`
  const relation = relations.get(key) ?? { kind, model, by }
  relations.set(key, relation)
  return relation
}

/** The only row whose field `by` has an id: `one('User', 'id')`. Loading it returns null if there is none. */
export function one<M extends Model>(model: M, by: IdField<M>): Relation<M, SelectedRow<M> | null> {
  return relationTo({ kind: 'one', model, by }) as Relation<M, SelectedRow<M> | null>
}

/** The rows whose field `by` has an id, oldest first: `many('Account', 'userId')`. */
export function many<M extends Model>(model: M, by: IdField<M>): Relation<M, readonly SelectedRow<M>[]> {
  return relationTo({ kind: 'many', model, by }) as Relation<M, readonly SelectedRow<M>[]>
}

/**
 * A relation to read for each row of a model, the fields to read of the rows that it returns, and the relations to read
 * for these rows.
 */
export interface Branch {
  readonly parent: Model
  /** The field of the parent that holds the id. */
  readonly from: string
  readonly relation: Relation
  /** The fields to read besides the id and the field of the relation. Undefined: all. */
  readonly fields: ReadonlySet<string> | undefined
  readonly branches: readonly Branch[]
}

/** Stands for no relations below a row. Trees are kept by the branches that they were made for, so it is one value. */
export const noBranches: readonly Branch[] = []

export interface ReadPlan {
  /** The fields to read of a model, besides its id. Undefined: all. */
  fieldsOf(model: Model): ReadonlySet<string> | undefined
  /** The relations to read together with the rows of a root field. */
  branchesOf(rootField: object): readonly Branch[]
}

/** Reads all fields, one relation at a time. */
export const noPlan: ReadPlan = { fieldsOf: () => undefined, branchesOf: () => noBranches }
