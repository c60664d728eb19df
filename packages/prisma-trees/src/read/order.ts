import { isStorableText, isStorableTime } from '@fusion-gateway/sql'
import type { DataModel, Model, OperationsOf, Table } from '../data-model.ts'

export type Direction = 'ASC' | 'DESC'

export const opposite = (direction: Direction): Direction => (direction === 'ASC' ? 'DESC' : 'ASC')

/** The order of the rows of a list. The database has an index on the same expression. */
export interface Order {
  /** The orders of rows that are equal in this one, without an index. In the end rows are ordered by id. */
  readonly ties?: readonly Order[]
  readonly direction: Direction
  readonly field: string
  readonly sqlType: string
  /** The expression to compare, given the column of the field. It is never null. */
  expression(column: string): string
  textOf(row: Readonly<Record<string, unknown>>): string
  /** The parameter for such a text; undefined if no row can have it. */
  parameterOf(text: string): string | undefined
}

export type OrderBy<M extends Model = Model> = NonNullable<OperationsOf<M>['findMany']['args']['orderBy']>

/** How to order by a field, as Prisma Client takes it. */
export type Sort = SortDirection | { readonly sort: SortDirection; readonly nulls?: 'first' | 'last' }

/** The direction of an order, as Prisma Client names it. */
export type SortDirection = 'asc' | 'desc'

/**
 * The order that Prisma's `orderBy` asks for. Rows that are equal in it are ordered by id, in the direction of the
 * first field.
 *
 * @throws Error for an order that no list can be paged in
 */
export function orderOf(model: DataModel, modelName: Model, orderBy: object): Order {
  const orders = [orderBy]
    .flat()
    .flatMap((fields) => Object.entries(fields))
    .flatMap(([field, sort]) => (sort === undefined ? [] : [orderByField(model(modelName), field, sort)]))
  const last = orders.at(-1)
  const isById = last?.field === 'id' && last.direction === orders[0]?.direction
  const [first, ...ties] = isById && orders.length > 1 ? orders.slice(0, -1) : orders
  if (!first) throw new Error('An order needs a field')
  return ties.length > 0 ? { ...first, ties } : first
}

function orderByField(table: Table, field: string, sort: unknown): Order {
  const { type, sqlType, index, isNullable } = table.columnOf(field)
  const { sort: name, nulls } = typeof sort === 'string' ? { sort, nulls: undefined } : (sort as Exclude<Sort, string>)
  const direction = name === 'asc' ? 'ASC' : 'DESC'
  if (index === 'nullsLast' && nulls === 'last') return byCount(field, direction)
  if (!isNullable && nulls === undefined) {
    if (index === 'prefix') return byText(field, direction)
    if (type === 'DateTime') return byTime(field, direction)
    if (type !== 'Json' && !sqlType.endsWith('[]')) return byColumn(field, direction, sqlType)
  }
  const order = JSON.stringify({ [field]: sort })
  throw new Error(
    `The order ${order} of the table ${table.name} is not supported: README.md of prisma-trees says which fields have one`,
  )
}

export function byTime(field: string, direction: Direction): Order {
  return {
    direction,
    field,
    sqlType: 'timestamptz',
    expression: (column) => column,
    textOf: (row) => String(Date.parse(row[field] as string)),
    parameterOf(text) {
      const time = new Date(/^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN)
      return isStorableTime(time) ? time.toISOString() : undefined
    },
  }
}

function byColumn(field: string, direction: Direction, sqlType: string): Order {
  return {
    direction,
    field,
    sqlType,
    expression: (column) => column,
    textOf: (row) => String(row[field]),
    parameterOf: (text) => (isStorableText(text) ? text : undefined),
  }
}

/** Whether rows have the time of their creation. */
export function isDated({ columns }: Pick<Table, 'columns'>): boolean {
  return columns.some(({ field, type, isNullable }) => field === 'createdAt' && type === 'DateTime' && !isNullable)
}

/** The orders by the time of creation. Rows of a relation are read in the first one. */
export const [oldestFirst, newestFirst] = [byTime('createdAt', 'ASC'), byTime('createdAt', 'DESC')]

/** The limit of an index entry: imported names have no maximum length. */
const maxCharacters = 200

/** The order by the first 200 characters of a text, in the collation of the database. */
function byText(field: string, direction: Direction): Order {
  return {
    direction,
    field,
    sqlType: 'text',
    expression: (column) => `left(${column}, ${maxCharacters})`,
    textOf: (row) => firstCharacters(String(row[field])),
    parameterOf: (text) => (isStorableText(text) && firstCharacters(text) === text ? text : undefined),
  }
}

/** No count is negative or above 2^53 − 1. */
export const [belowAll, aboveAll] = ['-1', '9007199254740992'] as const

/** An expression that is never null has a position for every row. Its indexes have it. */
export function neverNull(column: string, last: typeof belowAll | typeof aboveAll): string {
  return `coalesce(${column}, ${last})`
}

/** The order by a count that can be null. Rows without a count come last, in both directions. */
function byCount(field: string, direction: Direction): Order {
  const last = direction === 'ASC' ? aboveAll : belowAll
  return {
    direction,
    field,
    sqlType: 'bigint',
    expression: (column) => neverNull(column, last),
    textOf: (row) => String(row[field] ?? last),
    parameterOf: (text) => (/^(-1|\d{1,16})$/.test(text) ? text : undefined),
  }
}

/** The part of a text that an index has. */
export function firstCharacters(text: string): string {
  return text.length <= maxCharacters ? text : [...text].slice(0, maxCharacters).join('')
}
