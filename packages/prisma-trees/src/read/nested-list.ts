import type { Parameter } from '@fusion-gateway/sql'
import type { DataModel, Model } from '../data-model.ts'
import type { SelectedColumns } from './columns.ts'
import { positionParts, sortingOf } from './list-texts.ts'
import type { Ownership } from './owner.ts'
import type { ListRequest } from './page.ts'
import type { Relation } from './relation.ts'
import { createClause } from './where.ts'

/**
 * Which rows of a relation are read for each key, and in which order. Without a limit: all that are selected.
 */
export type RelatedRows = Omit<ListRequest, 'limit'> & { readonly limit?: number | undefined }

/** A relation of which only some rows are read, because the field that loads it has arguments. */
interface NestedList extends Relation {
  readonly rows: RelatedRows
}

/** Whether only some rows of a relation are read. */
export function isNestedList(relation: Relation): relation is NestedList {
  return 'rows' in relation
}

/** The rows that are read of a relation for each key. Undefined: all of them. */
export function rowsOfRelation(relation: Relation): RelatedRows | undefined {
  return isNestedList(relation) ? relation.rows : undefined
}

const all = {}

export function whereOfRelation(relation: Relation): object {
  return rowsOfRelation(relation)?.where ?? all
}

/**
 * Returns a function that restricts a relation to some of its rows. It returns the same object for the same rows of the
 * same relation, because what was read of a relation is remembered by the object: two fields with other arguments never
 * get the rows of each other. Each request has its own.
 */
export function createNestedLists() {
  const byRelation = new Map<Relation, Map<string, NestedList>>()
  return <Result>(relation: Relation<Model, Result>, rows: RelatedRows): Relation<Model, Result> => {
    const lists = byRelation.get(relation) ?? new Map<string, NestedList>()
    byRelation.set(relation, lists)
    // An order is determined by what of it is no function: its fields and directions.
    const key = JSON.stringify(rows)
    const list = lists.get(key) ?? { ...relation, rows }
    lists.set(key, list)
    return list as Relation<Model, Result>
  }
}

/**
 * The SELECT of some rows of a relation for each key. A lateral join reads the rows of one key at a time, by the index
 * on the foreign key, and keeps at most as many as the limit.
 *
 * @param keys an expression: the array of ids for which they are read
 * @param parameters of the statement. Those of the rows are added
 */
export function nestedListText(
  model: DataModel,
  { model: of, by, rows }: NestedList,
  columns: SelectedColumns,
  owned: Ownership,
  keys: string,
  parameters: Parameter[],
): string {
  const table = model(of)
  const clause = createClause(model, of, owned, rows.where, { parameters, isJoin: false })
  const ofKey = `"${table.columnOf(by).column}" = parent.id`
  const parts = [ofKey, ...clause.parts, ...positionParts(clause, table, rows)]
  const sorted = `ORDER BY ${sortingOf(table, rows)}`
  const limited = rows.limit === undefined ? '' : ` LIMIT ${clause.parameter(String(rows.limit), 'integer')}`
  // Without OFFSET PostgreSQL may look for the rows of a key in an index of the order, among those of all other keys.
  // Rows without an id are found and ordered by their key, which begins with that of the relation.
  const isKeyed = !table.columns.some(({ field }) => field === 'id')
  const ofParent = `SELECT * FROM "${table.name}" WHERE ${parts.join(' AND ')}${isKeyed ? '' : ' OFFSET 0'}`
  return (
    `SELECT ${columns.list} FROM (SELECT child.* FROM (SELECT DISTINCT unnest(${keys}::text[]) AS id) AS parent ` +
    `CROSS JOIN LATERAL (SELECT * FROM (${ofParent}) AS related ${sorted}${limited}) AS child) AS nested ${sorted}`
  )
}

/** The statement that counts the rows of a relation for each key. */
export function nestedCountText(
  model: DataModel,
  relation: Relation,
  owned: Ownership,
  keys: readonly string[],
): { text: string; parameters: readonly Parameter[] } {
  const { name, columnOf } = model(relation.model)
  const parameters: Parameter[] = [...owned.parameters, keys]
  const ofKeys = `"${columnOf(relation.by).column}" = ANY ($${parameters.length})`
  const { parts } = createClause(model, relation.model, owned, whereOfRelation(relation), {
    parameters,
    isJoin: false,
  })
  const column = `"${columnOf(relation.by).column}"`
  const text = `SELECT ${column}, count(*) FROM "${name}" WHERE ${[ofKeys, ...parts].join(' AND ')} GROUP BY ${column}`
  return { text, parameters }
}
