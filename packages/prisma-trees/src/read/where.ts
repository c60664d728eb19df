import type { Parameter } from '@fusion-gateway/sql'
import type { DataModel, Model, OperationsOf, RelationField, Table } from '../data-model.ts'
import { aboveAll, belowAll, firstCharacters, neverNull } from './order.ts'
import type { Ownership } from './owner.ts'

// The conditions of statements. They are given as Prisma Client takes them, and mean the same
// (https://www.prisma.io/docs/orm/reference/prisma-client-reference#filter-conditions-and-operators).

/** Which rows of a model to select, as Prisma Client takes it. */
export type Where<M extends Model = Model> = NonNullable<OperationsOf<M>['findMany']['args']['where']>

/** What a `where` means for the statement that has it. */
export interface Traits {
  /**
   * Whether the statements of such conditions have texts without a bound, because clients compose them: of OR and NOT,
   * of tests for null, each of which has two texts, or of several conditions on one field. All others have a few texts,
   * which connections prepare.
   */
  readonly isComposed: boolean
  /** Whether the rows that meet it can be few of many that are read. Such reads wait in a queue (`ReadLimits`). */
  readonly isSearch: boolean
  /** Whether it searches for a part of a text. The statement is planned for the text. */
  readonly hasSearchedText: boolean
  /** Whether it is about related rows too. */
  readonly readsRelations: boolean
  /** Whether it selects rows at all, instead of returning all of the owner. */
  readonly hasConditions: boolean
  /** The types of the columns with whose values it compares, by Prisma's names. */
  readonly types: ReadonlySet<string>
}

/** The parts of a statement's WHERE clause, which are joined by AND, and the statement's parameters. */
export interface Clause {
  /** Begins with the condition on the owner. */
  readonly parts: readonly string[]
  readonly parameters: readonly Parameter[]
  /** Adds a parameter of a type of PostgreSQL. Returns its placeholder. */
  parameter(value: Parameter | Date, type: string): string
}

interface ClauseOptions {
  /** The parameters of the statement so far, to which those of the conditions are added. By default the owner's. */
  readonly parameters?: Parameter[]
  /** Whether PostgreSQL can join related rows. Otherwise it looks them up for each row. */
  readonly isJoin?: boolean
}

export function traitsOf(model: DataModel, modelName: Model, where: object): Traits {
  return readWhere(model, modelName, where)
}

/**
 * The conditions of a WHERE clause, beginning with that of the owner.
 *
 * @throws Error for an operator that is not supported
 */
export function createClause(
  model: DataModel,
  of: Model,
  owned: Ownership,
  where: object,
  { parameters = [...owned.parameters], isJoin = true }: ClauseOptions = {},
): Clause {
  function parameter(value: Parameter | Date, type: string): string {
    parameters.push(value instanceof Date ? value.toISOString() : value)
    return `$${parameters.length}::${type}`
  }
  const { conditions } = readWhere(model, of, where)
  const writer: Writer = { parameter, owned, isJoin, isNegated: false }
  return { parts: [owned.conditionOn(of), ...conditions.map(({ write }) => write(writer))], parameters, parameter }
}

/** What writes a condition. */
interface Writer extends Pick<Clause, 'parameter'> {
  readonly owned: Ownership
  /** Whether PostgreSQL can join related rows: not within an OR or a NOT. */
  readonly isJoin: boolean
  /** Whether the condition is within a NOT, so that unknown and false differ. */
  readonly isNegated: boolean
  /** The name of the table in the statement, if it is not its own. */
  readonly alias?: string
}

interface Condition extends Partial<Traits> {
  readonly write: (writer: Writer) => string
  /** The field and the operator. */
  readonly name?: string
}

interface ReadWhere extends Traits {
  /** Undefined: any. */
  readonly model: Model | undefined
  readonly conditions: readonly Condition[]
}

/** A `where` without conditions. Most have none, and are made for each request. */
const none: ReadWhere = { ...traitsIn([]), model: undefined, conditions: [] }

const read = new WeakMap<object, ReadWhere>()

/** Reads a `where`: once, unless the same object is given for several models. */
function readWhere(model: DataModel, modelName: Model, where: object): ReadWhere {
  if (isEmpty(where)) return none
  const known = read.get(where)
  if (known?.model === modelName) return known
  const conditions = [...conditionsIn(model, model(modelName), where)]
  const names = conditions.flatMap(({ name }) => name ?? [])
  const traits = traitsIn(conditions)
  const result = {
    ...traits,
    model: modelName,
    conditions,
    isComposed: traits.isComposed || new Set(names).size < names.length,
  }
  read.set(where, result)
  return result
}

function isEmpty(where: object): boolean {
  for (const _ in where) return false
  return true
}

function traitsIn(conditions: readonly Condition[]): Traits {
  return {
    isComposed: conditions.some(({ isComposed }) => isComposed),
    isSearch: conditions.some(({ isSearch }) => isSearch),
    hasSearchedText: conditions.some(({ hasSearchedText }) => hasSearchedText),
    readsRelations: conditions.some(({ readsRelations }) => readsRelations),
    hasConditions: conditions.length > 0,
    types: new Set(conditions.flatMap(({ types = [] }) => [...types])),
  }
}

/** The conditions that a `where` joins by AND. An undefined value is no condition. */
function* conditionsIn(model: DataModel, table: Table, where: object): Generator<Condition> {
  for (const [name, value] of Object.entries(where)) {
    if (value === undefined) continue
    const listed = [value].flat() as object[]
    if (name === 'AND') for (const inner of listed) yield* conditionsIn(model, table, inner)
    else if (name === 'OR') yield searchIn(table, listed) ?? anyOf(listed.map((inner) => allOf(model, table, inner)))
    else if (name === 'NOT') for (const inner of listed) yield not(allOf(model, table, inner))
    else {
      const relation = table.relationOf(name)
      if (relation) yield* relatedConditions(model, table, relation, value)
      else yield* columnConditions(table, name, value)
    }
  }
}

function allOf(model: DataModel, table: Table, where: object): Condition {
  const conditions = [...conditionsIn(model, table, where)]
  const [only] = conditions
  if (only && conditions.length === 1) return only
  return {
    ...traitsIn(conditions),
    ...(only && { isComposed: true }),
    write: (writer) => (only ? conditions.map(({ write }) => `(${write(writer)})`).join(' AND ') : 'true'),
  }
}

function anyOf(conditions: readonly Condition[]): Condition {
  return {
    ...traitsIn(conditions),
    isComposed: true,
    isSearch: true,
    write: (writer) =>
      conditions.length === 0
        ? 'false'
        : `(${conditions.map(({ write }) => `(${write({ ...writer, isJoin: false })})`).join(' OR ')})`,
  }
}

function not(condition: Condition): Condition {
  return {
    ...traitsIn([condition]),
    isComposed: true,
    isSearch: true,
    write: (writer) => `NOT (${condition.write({ ...writer, isJoin: false, isNegated: true })})`,
  }
}

/** The conditions on the rows of a relation. */
function* relatedConditions(
  model: DataModel,
  table: Table,
  relation: RelationField,
  value: object | null,
): Generator<Condition> {
  const related = model(relation.model)
  const some = (where: object) => existing(model, table, relation, allOf(model, related, where))
  const asOne = value === null || !('is' in value || 'isNot' in value) ? { is: value } : value
  const tests = relation.kind === 'one' ? asOne : (value as object)
  for (const [operator, where] of Object.entries(tests) as [string, object | null | undefined][]) {
    if (where === undefined) continue
    if (operator === 'some' || operator === 'is') yield where === null ? not(some({})) : some(where)
    else if (operator === 'none' || operator === 'isNot') yield where === null ? some({}) : not(some(where))
    else if (operator === 'every') yield not(some({ NOT: where }))
    else throw unsupported(table, relation.field, operator)
  }
}

/** Some related row meets a condition. */
function existing(model: DataModel, table: Table, relation: RelationField, condition: Condition): Condition {
  const { name, columnOf } = model(relation.model)
  return {
    ...traitsIn([condition]),
    isSearch: true,
    readsRelations: true,
    name: relation.field,
    write({ isJoin, alias: above = table.name, ...writer }) {
      const alias = aliasOf(name, above)
      // Columns without a table belong to the innermost one.
      const joined = `"${alias}"."${columnOf(relation.by).column}" = "${above}"."${table.columnOf(relation.from).column}"`
      const inner = condition.write({ ...writer, isJoin: true, isNegated: false, alias })
      const conditions = `${writer.owned.conditionOn(relation.model)} AND ${joined} AND ${inner}`
      // Otherwise PostgreSQL could read all related rows first and keep them in memory, however many. With OFFSET it
      // looks up those of a row by an index.
      return `EXISTS (SELECT 1 FROM ${aliased(name, alias)} WHERE ${conditions}${isJoin ? '' : ' OFFSET 0'})`
    },
  }
}

/** The name of a table within a statement about rows of the table `above`: another one, if they are the same table. */
export function aliasOf(name: string, above: string): string {
  return name === above ? `${name}_related` : name
}

/** A table and its name, for FROM. */
export function aliased(name: string, alias: string): string {
  return name === alias ? `"${name}"` : `"${name}" AS "${alias}"`
}

function* columnConditions(table: Table, field: string, value: unknown): Generator<Condition> {
  if (table.columnOf(field).type === 'Json' && isObject(value) && 'path' in value) {
    yield valueInJson(table, field, value)
    return
  }
  for (const [operator, operand] of Object.entries(testsIn(value))) {
    if (operand === undefined || operator === 'mode') continue
    const name = `${field} ${operator}`
    if (isText(operator)) yield { name, ...textCondition(table, field, operator, operand, value) }
    else yield { name, ...columnCondition(table, field, operator, operand) }
  }
}

/** The operators of a field. A value alone is what the field equals. */
function testsIn(value: unknown): Readonly<Record<string, unknown>> {
  const isValue = typeof value !== 'object' || value === null || value instanceof Date || Array.isArray(value)
  return isValue ? { equals: value } : (value as Record<string, unknown>)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/**
 * The value of a key of a JSON object: `{ path: ['plan'], equals: 'pro' }`. An index has the objects as jsonb, by the
 * owner in the form of the indexes for searches.
 */
function valueInJson(
  table: Table,
  field: string,
  { path, equals, ...others }: Readonly<Record<string, unknown>>,
): Condition {
  const [key, ...deeper] = path as readonly string[]
  const isScalar = typeof equals !== 'object' && equals !== undefined
  if (key === undefined || deeper.length > 0 || !isScalar || Object.keys(others).length > 0)
    throw unsupported(table, field, 'path')
  return {
    // How many objects have the value decides which plan is fast.
    hasSearchedText: true,
    isSearch: true,
    name: `${field} path`,
    types: new Set(['String']),
    write: ({ parameter }) =>
      `"${table.owner}" || '' = $1 AND "${table.columnOf(field).column}"::jsonb @> ${parameter(JSON.stringify({ [key]: equals }), 'jsonb')}`,
  }
}

const signs: Readonly<Record<string, string>> = { equals: '=', lt: '<', lte: '<=', gt: '>', gte: '>=' }

function columnCondition(table: Table, field: string, operator: string, operand: unknown): Condition {
  const { column: name, type, sqlType, index, isDate } = table.columnOf(field)
  const toParameter = (value: unknown) => (isDate && value instanceof Date ? startOfDay(value) : toText(value))
  const column = `"${name}"`
  const types = new Set([type])
  if (operand !== null && (type === 'Json' || sqlType.endsWith('[]'))) throw unsupported(table, field, operator)
  const isPrefix = index === 'prefix'
  if (operand === null) {
    const indexed = isPrefix ? `left(${column}, 200)` : column
    if (operator !== 'equals' && operator !== 'not') throw unsupported(table, field, `${operator}: null`)
    const test = operator === 'equals' ? 'IS NULL' : 'IS NOT NULL'
    return { isComposed: true, isSearch: true, write: () => `${indexed} ${test}` }
  }
  const sign = signs[operator]
  if (sign === '=' && isPrefix) {
    return {
      types,
      write({ parameter }) {
        const value = parameter(operand as string, 'text')
        return `left(${column}, 200) = left(${value}, 200) AND ${column} = ${value}`
      },
    }
  }
  if (sign !== undefined) {
    const indexed = index === 'nullsLast' && isCount(operand) ? countOf(column, operator) : column
    return {
      types,
      write({ parameter, isNegated }) {
        return `${isNegated ? column : indexed} ${sign} ${parameter(toParameter(operand), sqlType)}`
      },
    }
  }
  if (operator === 'in' || operator === 'notIn') {
    const values = (operand as readonly unknown[]).map(toParameter)
    // The embedded database knows the list types that exist when it starts. On its first start that is before the
    // migrations.
    const listed = ({ parameter }: Writer) => `${parameter(values, 'text[]')}::${sqlType}[]`
    if (operator === 'notIn') {
      return { types, isComposed: true, isSearch: true, write: (writer) => `${column} <> ALL(${listed(writer)})` }
    }
    return {
      types,
      isSearch: field !== 'id',
      write(writer) {
        if (!isPrefix) return `${column} = ANY(${listed(writer)})`
        const beginnings = writer.parameter(values.map(firstCharacters), 'text[]')
        return `left(${column}, 200) = ANY(${beginnings}) AND ${column} = ANY(${writer.parameter(values, 'text[]')})`
      },
    }
  }
  if (operator === 'not') {
    const inner = [...columnConditions(table, field, operand)]
    if (typeof operand !== 'object') {
      return {
        types,
        isComposed: true,
        isSearch: true,
        write: ({ parameter }) => `${column} <> ${parameter(toParameter(operand), sqlType)}`,
      }
    }
    return not({ ...traitsIn(inner), write: (writer) => inner.map(({ write }) => `(${write(writer)})`).join(' AND ') })
  }
  throw unsupported(table, field, operator)
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** A date has no time. */
function startOfDay(value: Date): string {
  return `${value.toISOString().slice(0, '2026-01-31'.length)}T00:00:00.000Z`
}

/** The expression of an index. Null is beyond all numbers that the operator selects. */
function countOf(column: string, operator: string): string {
  return operator === 'equals' ? column : neverNull(column, operator.startsWith('l') ? aboveAll : belowAll)
}

/** Whether a number can be compared with the numbers that an index has for null. */
function isCount(value: unknown): boolean {
  return (typeof value === 'number' || typeof value === 'bigint') && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

const patterns = {
  contains: (text: string) => `%${text}%`,
  startsWith: (text: string) => `${text}%`,
  endsWith: (text: string) => `%${text}`,
} as const

function isText(operator: string): operator is keyof typeof patterns {
  return Object.hasOwn(patterns, operator)
}

/** Makes LIKE match the text literally: without it `50%` would match every text that contains 50. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A part of a text. With `mode: 'insensitive'` case is ignored, and how accents are encoded. */
function textCondition(
  table: Table,
  field: string,
  operator: keyof typeof patterns,
  text: unknown,
  value: unknown,
): Condition {
  if (testsIn(value)['mode'] === 'insensitive') return searchOf(table, [field], operator, String(text))
  const pattern = patterns[operator](escapeLike(String(text)))
  return {
    isComposed: true,
    isSearch: true,
    types: new Set(['String']),
    write: ({ parameter }) => `"${table.columnOf(field).column}" LIKE ${parameter(pattern, 'text')}`,
  }
}

function searchOf(table: Table, fields: readonly string[], operator: keyof typeof patterns, text: string): Condition {
  return {
    isSearch: true,
    hasSearchedText: true,
    types: new Set(['String']),
    name: `${fields} ${operator}`,
    write({ parameter }) {
      // When the statement is planned, this is folded to the text that is searched for.
      const pattern = `search_fold(${parameter(patterns[operator](escapeLike(text)), 'text')})`
      const columns = fields.map((field) => `search_fold("${table.columnOf(field).column}") LIKE ${pattern}`)
      // The indexes for searches have the owner in this form, so that no other statement uses them. `$1` is the
      // owner.
      return `"${table.owner}" || '' = $1 AND (${columns.join(' OR ')})`
    },
  }
}

/**
 * One search for a text in several columns, if that is what an OR has: its statement has one parameter, and its text is
 * one of few.
 */
function searchIn(table: Table, alternatives: readonly object[]): Condition | undefined {
  const searches = alternatives.map((where) => {
    const [[field = '', value] = [], ...others] = Object.entries(where)
    if (others.length > 0 || typeof value !== 'object' || value === null) return undefined
    const { contains, mode, ...rest } = value as Record<string, unknown>
    const isSearch = typeof contains === 'string' && mode === 'insensitive' && Object.keys(rest).length === 0
    return isSearch ? { field, text: contains } : undefined
  })
  const [first] = searches
  if (!first || !searches.every((search) => search?.text === first.text)) return undefined
  const fields = searches.flatMap((search) => search?.field ?? [])
  return searchOf(table, fields, 'contains', first.text)
}

/** Selects the rows for which a `where` is false or, unlike with NOT of SQL and Prisma, unknown. */
export function unmet(model: DataModel, modelName: Model, where: object): object {
  return rowsWhere(model(modelName), where, 'not true')
}

const opposites = { true: 'false', false: 'true', 'not true': 'not false', 'not false': 'not true' } as const

/** Selects the rows for which a `where` has an outcome. A condition on related rows is never unknown. */
function rowsWhere(table: Table, where: object, outcome: keyof typeof opposites): object {
  const isNegated = outcome === 'false' || outcome === 'not true'
  const [all, any] = isNegated ? (['OR', 'AND'] as const) : (['AND', 'OR'] as const)
  const alternatives = Object.entries(where).flatMap(([name, value]): object[] => {
    if (value === undefined) return []
    const eachWhere = (wanted: typeof outcome) => [value].flat().map((inner) => rowsWhere(table, inner, wanted))
    if (name === 'AND') return eachWhere(outcome)
    if (name === 'OR') return [{ [any]: eachWhere(outcome) }]
    if (name === 'NOT') return eachWhere(opposites[outcome])
    const test = isNegated ? { NOT: { [name]: value } } : { [name]: value }
    const isOnNull = !table.relationOf(name) && testsIn(value)['equals'] === null
    const canBeUnknown = !table.relationOf(name) && !isOnNull && table.columnOf(name).isNullable
    return [canBeUnknown && outcome.startsWith('not') ? { OR: [test, { [name]: null }] } : test]
  })
  return { [all]: alternatives }
}

function unsupported({ name }: Table, field: string, operator: string): Error {
  return new Error(`The condition \`${operator}\` on ${field} of the table ${name} is not supported`)
}
