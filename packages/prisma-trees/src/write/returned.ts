import type { DataModel, Model, RelationField, Table } from '../data-model.ts'
import { type SelectedColumns, selectColumns } from '../read/columns.ts'
import { createOwnerships, type Owner, type Ownership } from '../read/owner.ts'
import { requireNames } from '../read/selected.ts'
import { aliased, aliasOf } from '../read/where.ts'

/** What a statement returns of each row that it has written. */
export type Returned = Pick<SelectedColumns, 'list' | 'toRow'>

/** What to return of each row, as Prisma Client takes it: columns, and those of related rows. */
export type Select = Readonly<Record<string, boolean | { readonly select?: Select | null } | undefined>>

const ownerships = new WeakMap<DataModel, (owner: Owner) => Ownership>()

export function ownershipOf(model: DataModel, owner: Owner): Ownership {
  const known = ownerships.get(model) ?? createOwnerships(model)
  ownerships.set(model, known)
  return known(owner)
}

const columns = new WeakMap<Table, SelectedColumns>()

export function columnsOf(table: Table): SelectedColumns {
  const known = columns.get(table) ?? selectColumns(table)
  columns.set(table, known)
  return known
}

const known = new WeakMap<Select, Map<string, Returned>>()

/**
 * What a deletion returns of each row, which includes the id. It is read from the same object once.
 *
 * @throws Error for what is not supported
 */
export function returnedBy(model: DataModel, owner: Owner, modelName: Model, select: Select): Returned {
  const key = `${modelName} ${owner.within?.model}`
  const ofSelect = known.get(select) ?? new Map<string, Returned>()
  const returned = ofSelect.get(key) ?? readSelect(model, owner, modelName, select)
  known.set(select, ofSelect.set(key, returned))
  return returned
}

/** Related rows are those before the deletion, in the order of their ids, as one JSON text. */
function readSelect(model: DataModel, owner: Owner, modelName: Model, select: Select): Returned {
  const table = model(modelName)
  const own = selectColumns(table, { isSelected: ({ field }) => field === 'id' || select[field] === true })
  const names = new Set(table.columns.map(({ field }) => field))
  const related = Object.entries(select).filter(([field, wanted]) => wanted && !names.has(field))
  if (related.length === 0) return own
  const list = `${own.list}, ${objectText(model, ownershipOf(model, owner), table, related)}::text`
  return { list, toRow: (values) => ({ ...own.toRow(values.slice(0, -1)), ...JSON.parse(values.at(-1) as string) }) }
}

/** The fields of a row as a JSON object. */
function objectText(
  model: DataModel,
  owned: Ownership,
  table: Table,
  select: readonly (readonly [string, Select[string]])[],
  alias = table.name,
): string {
  const values = select.map(([field, below]) => {
    const relation = table.relationOf(field)
    if (relation) return `'${field}', ${relatedText(model, owned, table, alias, relation, below)}`
    const { column, type } = table.columnOf(field)
    if (['DateTime', 'BigInt', 'Float', 'Json'].includes(type))
      throw new Error(`A deletion does not return ${field} of related rows`)
    return `'${field}', "${alias}"."${column}"`
  })
  return `json_build_object(${values.join(', ')})`
}

function relatedText(
  model: DataModel,
  owned: Ownership,
  above: Table,
  aliasAbove: string,
  relation: RelationField,
  wanted: Select[string],
): string {
  const { field, model: of, kind, from, by } = relation
  const { select, ...others } = typeof wanted === 'object' ? wanted : {}
  requireNames(others, [], field)
  if (!select) throw new Error(`What a deletion returns of ${field} needs a \`select\``)
  const table = model(of)
  const alias = aliasOf(table.name, aliasAbove)
  const object = objectText(
    model,
    owned,
    table,
    Object.entries(select).filter(([, isWanted]) => isWanted),
    alias,
  )
  const many = `coalesce(json_agg(${object} ORDER BY "${alias}"."id" COLLATE "C"), '[]')`
  const joined = `"${alias}"."${table.columnOf(by).column}" = "${aliasAbove}"."${above.columnOf(from).column}"`
  return `(SELECT ${kind === 'one' ? object : many} FROM ${aliased(table.name, alias)} WHERE ${owned.conditionOn(of)} AND ${joined})`
}
