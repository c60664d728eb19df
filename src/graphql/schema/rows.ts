import type { Model, Row } from '../../db/data-model.ts'
import type { Loaders } from '../../db/read/loaders.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'

// Rows as the parents of fields. Pothos types a parent as a whole row. A loaded row has its ids and the columns that the
// operation names, and a field's resolver reads the column of its own name or an id, so nothing is missing where it is read
// (test/graphql/field-names.test.ts). Code outside of resolvers gets `SelectedRow`, which promises the ids alone.

/** A row as the parent of fields. */
export function asParent<M extends Model>(row: SelectedRow<M>): Row<M> {
  return row as Row<M>
}

/** Loads the row that has an id; null if there is none. */
export async function loadRow<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  id: string,
): Promise<Row<M> | null> {
  return (await loaders.load(relation, id)) as Row<M> | null
}

/**
 * Loads the row that a foreign key refers to.
 *
 * @throws Error if it was deleted between two statements of the request
 */
export async function loadReferencedRow<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  id: string,
): Promise<Row<M>> {
  const row = await loadRow(loaders, relation, id)
  if (row === null) throw new Error('The referenced row was deleted while the request ran')
  return row
}

/** Loads the rows that refer to an id, oldest first. */
export async function loadRows<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, readonly SelectedRow<M>[]>,
  id: string,
): Promise<Row<M>[]> {
  return (await loaders.load(relation, id)) as unknown as Row<M>[]
}
