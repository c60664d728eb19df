import type { DataModel, Model, Table } from '../data-model.ts'
import { type Direction, opposite } from './order.ts'
import type { Ownership } from './owner.ts'
import { type ListRequest, maxLimit, type Window } from './page.ts'
import { type Clause, createClause, traitsOf } from './where.ts'

// The statements that read and count the rows of lists.

/**
 * The statement that reads rows of a list. Its last parameter is the limit.
 *
 * @param columns the list for SELECT
 */
export function pageText(model: DataModel, modelName: Model, columns: string, owned: Ownership, request: ListRequest) {
  const table = model(modelName)
  const clause = createClause(model, modelName, owned, request.where)
  const [ofOwner, conditions] = [owned.conditionOn(modelName), clause.parts.slice(1)]
  const positions = positionParts(clause, table, request)
  const limit = `$${clause.parameters.length + 1}::integer`
  const parameters = [...clause.parameters, String(request.limit)]
  const from = (where: readonly string[], most: number) =>
    `SELECT * FROM "${table.name}" WHERE ${where.join(' AND ')} ORDER BY ${sortingOf(table, request)} LIMIT ${most}`
  // The planner estimates from the inner limit, which is a constant. The outer limit is a parameter, so that the text
  // is the same for every page size. Without the inner limit PostgreSQL would plan the statement again each time.
  const page = from([...clause.parts, ...positions], maxLimit)
  if (!isFoundNearby(model, modelName, request))
    return { text: `SELECT ${columns} FROM (${page}) AS page LIMIT ${limit}`, parameters }
  const isComplete = `((SELECT count(*) FROM found) >= ${limit} OR (SELECT count(*) FROM nearby) < ${maxNearby})`
  const text =
    `WITH nearby AS MATERIALIZED (${from([ofOwner, ...positions], maxNearby)}), found AS MATERIALIZED ` +
    `(SELECT * FROM nearby AS "${table.name}" WHERE ${conditions.join(' AND ')} LIMIT ${limit}) ` +
    `SELECT ${columns} FROM (SELECT * FROM found WHERE ${isComplete} UNION ALL ` +
    `SELECT * FROM (${page}) AS page WHERE NOT ${isComplete}) AS page LIMIT ${limit}`
  return { text, parameters }
}

/** How many rows a search reads in the order of the list before it uses another index. */
const maxNearby = 1_000

/**
 * Whether a page is first searched for among the next rows of the list. A frequent text fills the page there, and an
 * index of texts would return all the rows that have it. PostgreSQL knows which texts are frequent only while its
 * statistics are right.
 */
function isFoundNearby(model: DataModel, modelName: Model, { where, order }: ListRequest): boolean {
  const { hasSearchedText, readsRelations, isComposed } = traitsOf(model, modelName, where)
  return order.ties === undefined && hasSearchedText && !readsRelations && !isComposed
}

/** An expression that rows are ordered by, and its direction. */
interface SortKey {
  readonly expression: string
  readonly direction: Direction
  readonly sqlType: string
}

/** The keys of a window in the direction in which it is read. The id follows them, in the direction of the first. */
function sortKeysOf({ columnOf }: Table, { order, direction }: Pick<Window, 'order' | 'direction'>): SortKey[] {
  return [order, ...(order.ties ?? [])].map((one) => ({
    expression: one.expression(`"${columnOf(one.field).column}"`),
    direction: one.direction === order.direction ? direction : opposite(direction),
    sqlType: one.sqlType,
  }))
}

export function sortingOf(table: Table, window: Pick<Window, 'order' | 'direction'>): string {
  const keys = sortKeysOf(table, window).map(({ expression, direction }) => `${expression} ${direction}`)
  const hasId = table.columns.some(({ field }) => field === 'id')
  return (hasId ? [...keys, `"id" ${window.direction}`] : keys).join(', ')
}

/** The conditions of a window: rows above one position and below another, by the first key. */
export function positionParts({ parameter }: Clause, table: Table, window: Omit<Window, 'limit'>): string[] {
  const keys = sortKeysOf(table, window)
  return [['>', window.above] as const, ['<', window.below] as const].flatMap(([sign, position]) => {
    if (!position) return []
    const texts = [position.value, ...(position.ties ?? [])]
    const values = keys.map(({ sqlType }, index) => parameter(texts[index] ?? '', sqlType))
    const id = parameter(position.id, 'text')
    const signOfId = `${sign}${window.isClosed ? '=' : ''}`
    if (keys.every(({ direction }) => direction === window.direction)) {
      const expressions = keys.map(({ expression }) => expression)
      return [`(${[...expressions, '"id"'].join(', ')}) ${signOfId} (${[...values, id].join(', ')})`]
    }
    // PostgreSQL compares rows in one direction only.
    const beyond = keys.reduceRight((rest, { expression, direction }, index) => {
      const signOfKey = direction === window.direction ? sign : sign === '>' ? '<' : '>'
      return `(${expression} ${signOfKey} ${values[index]} OR (${expression} = ${values[index]} AND ${rest}))`
    }, `"id" ${signOfId} ${id}`)
    // The first key leads to the rows by its index.
    return [`${keys[0]?.expression} ${sign}= ${values[0]} AND ${beyond}`]
  })
}

/** The statement that counts the rows that are selected. */
export function countText(model: DataModel, modelName: Model, owned: Ownership, where: object) {
  const clause = createClause(model, modelName, owned, where)
  const text = `SELECT count(*) FROM "${model(modelName).name}" WHERE ${clause.parts.join(' AND ')}`
  return { text, parameters: clause.parameters }
}

/** The statement that counts the rows for each value of a field, the most frequent ones first. */
export function countByText(model: DataModel, modelName: Model, owned: Ownership, field: string) {
  const { name, columnOf } = model(modelName)
  const { column } = columnOf(field)
  const text =
    `SELECT "${column}"::text, count(*) FROM "${name}" WHERE ${owned.conditionOn(modelName)} ` +
    `GROUP BY "${column}" ORDER BY 2 DESC, 1`
  return { text, parameters: owned.parameters }
}
