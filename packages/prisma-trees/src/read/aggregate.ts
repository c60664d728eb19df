import type { DataModel, DelegateOf, Model, OperationsOf, Row, Table } from '../data-model.ts'
import type { Types } from '../prisma.ts'
import { decoderOf } from './columns.ts'
import type { Sort } from './order.ts'
import type { Ownership } from './owner.ts'
import { requireNames, requireTake } from './selected.ts'
import { createClause } from './where.ts'

// Numbers about the rows that a `where` selects, all together or of each group, as `aggregate` and `groupBy` of Prisma
// Client return them.

const functions = { _count: 'count', _sum: 'sum', _avg: 'avg', _min: 'min', _max: 'max' } as const
const numberTypes = new Set(['Int', 'BigInt', 'Float', 'Decimal'])

type Name = keyof typeof functions
type Named<Args, Names> = Pick<Args, Names & keyof Args>

/** The arguments of `aggregate` that are supported. */
export type AggregateOf<M extends Model> = Named<Types.Public.Args<DelegateOf<M>, 'aggregate'>, 'where' | Name>

/** The arguments of `groupBy` that are supported. The groups are those at the beginning of the order. */
export type GroupsOf<M extends Model> = Named<Types.Public.Args<DelegateOf<M>, 'groupBy'>, 'by' | 'where' | Name> & {
  readonly orderBy: NonNullable<Types.Public.Args<DelegateOf<M>, 'groupBy'>['orderBy']>
  readonly take: number
}

/** The numbers that are asked for. `Prisma.Result` would say that an average has the type of its column. */
type Numbers<Output, A> = {
  -readonly [K in keyof A & keyof Output & Name]: A[K] extends true
    ? number
    : { -readonly [Field in keyof A[K] & keyof NonNullable<Output[K]>]: NonNullable<Output[K]>[Field] }
}

export type Aggregate<M extends Model, A> = Numbers<OperationsOf<M>['aggregate']['result'], A>

export type Group<M extends Model, A extends { readonly by: unknown }> = Pick<
  Row<M>,
  (A['by'] extends readonly (infer Field)[] ? Field : A['by']) & keyof Row<M>
> &
  Numbers<OperationsOf<M>['groupBy']['result'][number], A>

export interface AggregateArguments
  extends Partial<Record<Name, true | Readonly<Record<string, boolean | undefined>>>> {
  readonly where?: object | undefined
  readonly by?: string | readonly string[]
  readonly orderBy?: object
  readonly take?: number
}

/** An expression that a statement returns or is ordered by, and the conversion of its values. */
interface Value {
  readonly expression: string
  readonly decode: (value: unknown) => unknown
}

/**
 * The statement for some arguments, and what converts its rows to the result of Prisma Client.
 *
 * @throws Error for an argument that is not supported, or groups without `take`, because an owner can have any number
 */
export function aggregateText(model: DataModel, modelName: Model, owned: Ownership, args: AggregateArguments) {
  const table = model(modelName)
  const { by, where = {}, orderBy = [], take, ...numbers } = args
  const what = `${by === undefined ? 'aggregate' : 'groupBy'} of ${modelName}`
  const names = Object.keys(functions) as Name[]
  requireNames(numbers, names, what)
  const groups = [by ?? []].flat().map((field) => ({ path: [field], ...fieldValue(table, field) }))
  const selected = names.flatMap((name) => {
    const { [name]: wanted } = numbers
    if (wanted === true) return [{ path: [name], ...fieldValue(table, '_all', name) }]
    const fields = Object.entries(wanted ?? {}).flatMap(([field, isWanted]) => (isWanted ? [field] : []))
    return fields.map((field) => ({ path: [name, field], ...fieldValue(table, field, name) }))
  })
  const values = [...groups, ...selected]
  const listOf = (of: readonly Value[]) => of.map(({ expression }) => expression).join(', ')
  const { parts, parameters, parameter } = createClause(model, modelName, owned, where)
  let text = `SELECT ${listOf(values)} FROM "${table.name}" WHERE ${parts.join(' AND ')}`
  if (by !== undefined) {
    if (take === undefined || groups.length === 0) throw new Error(`${what} needs the arguments \`by\` and \`take\``)
    requireTake({ take }, what)
    const sorts = [orderBy]
      .flat()
      .flatMap((fields) => Object.entries(fields).flatMap((sort) => sortsOf(table, ...sort)))
    text += ` GROUP BY ${listOf(groups)}${sorts.length > 0 ? ` ORDER BY ${sorts.join(', ')}` : ''}`
    text += ` LIMIT ${parameter(String(take), 'integer')}`
  }
  function toResult(row: readonly unknown[]) {
    const result: Record<string, unknown> = {}
    for (const [index, { path, decode }] of values.entries()) {
      const [name = '', field] = path
      const value = row[index] === null ? null : decode(row[index])
      result[name] = field === undefined ? value : { ...(result[name] as object | undefined), [field]: value }
    }
    return result
  }
  return { text, parameters, toResult }
}

/** A field of a group, or a number about a field of its rows. */
function fieldValue(table: Table, field: string, name?: Name): Value {
  if (field === '_all') return { expression: 'count(*)', decode: Number }
  const column = table.columnOf(field)
  if ((name === '_sum' || name === '_avg') && !numberTypes.has(column.type)) {
    throw new Error(`The field ${field} is no number, and has no \`${name}\``)
  }
  const expression = name ? `${functions[name]}("${column.column}")` : `"${column.column}"`
  // The sum of integers is a bigint, that of bigints a numeric, and so is their average. These are texts.
  const isNumber = name === '_count' || name === '_avg' || (name === '_sum' && column.type !== 'BigInt')
  return { expression, decode: isNumber ? Number : decoderOf(column) }
}

/** The expressions of ORDER BY: `{ id: 'desc' }`, or `{ _count: { id: 'desc' } }`. */
function sortsOf(table: Table, name: string, sort: unknown): string[] {
  const isNumber = Object.hasOwn(functions, name)
  const sorts = isNumber ? Object.entries(sort as object) : [[name, sort] as const]
  return sorts.map(([field, of]) => {
    const { sort, nulls } = typeof of === 'string' ? { sort: of, nulls: undefined } : (of as Exclude<Sort, string>)
    const { expression } = fieldValue(table, field, isNumber ? (name as Name) : undefined)
    const place = nulls === undefined ? '' : nulls === 'first' ? ' NULLS FIRST' : ' NULLS LAST'
    return `${expression} ${sort === 'asc' ? 'ASC' : 'DESC'}${place}`
  })
}
