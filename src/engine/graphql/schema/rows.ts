import type { Context } from '../../context.ts'
import type { Model, Row } from '../../db/data-model.ts'
import type { Loaders } from '../../db/read/loaders.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'

// Rows as the parents of fields. Pothos types a parent as a whole row. A loaded row has its id, the columns that the
// operation names, and the ids that its relations start from. A resolver reads only the column of its own name or such
// an id, so it never reads a missing column (test/graphql/field-names.test.ts). Code outside of resolvers gets
// `SelectedRow`.

/** A row as the parent of fields. */
export function asParent<M extends Model>(row: SelectedRow<M>): Row<M> {
  return row as Row<M>
}

type MaybePromise<Value> = Value | Promise<Value>

/** Loads the row that has an id; null if there is none. */
export function loadRow<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  id: string,
): MaybePromise<Row<M> | null> {
  return loaders.load(relation, id) as MaybePromise<Row<M> | null>
}

/** Loads the rows that have ids, in the order of the ids, with null for each id that no row has. */
export function loadRows<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  ids: readonly string[],
): Promise<(Row<M> | null)[]> {
  return loaders.loadAll(relation, ids) as Promise<(Row<M> | null)[]>
}

/**
 * The options of a field that returns the row of a relation, or null if the id is null: `...rowOf(profileOfAccount,
 * 'id')`.
 */
export function rowOf<M extends Model, From extends string>(relation: Relation<M, SelectedRow<M> | null>, from: From) {
  return {
    relation: { relation, from },
    resolve: ({ [from]: id }: Readonly<Record<From, string | null>>, _args: object, { loaders }: Context) =>
      id === null ? null : loadRow(loaders, relation, id),
  }
}

/**
 * The options of a field that returns the row that a foreign key refers to: `...referencedRowOf(userById, 'userId')`.
 * The resolver throws if the row was deleted between two statements of the request.
 */
export function referencedRowOf<M extends Model, From extends string>(
  relation: Relation<M, SelectedRow<M> | null>,
  from: From,
) {
  const { resolve, ...options } = rowOf(relation, from)
  return {
    ...options,
    resolve: (parent: Readonly<Record<From, string>>, args: object, context: Context) => {
      const row = resolve(parent, args, context)
      return row instanceof Promise ? row.then(present) : present(row)
    },
  }
}

function present<Value>(row: Value | null): Value {
  if (row === null) throw new Error('The referenced row was deleted while the request ran')
  return row
}
