import type { DataModel, Model } from '../data-model.ts'
import type { Parameter } from '../statement.ts'
import { byCount, firstCharacters } from './order.ts'
import type { Ownership } from './owner.ts'
import type { Window } from './page.ts'
import type { Relation } from './relation.ts'

/** A condition on the rows of a list. */
export type Condition =
  | { readonly field: string; readonly is: '=' | '<' | '>' | '<=' | '>='; readonly value: string | Date }
  | { readonly field: string; readonly is: 'in'; readonly value: readonly string[] }
  /**
   * Equal to a text, or to one of several, that can be too long for an index, which has only its first 200 characters.
   */
  | { readonly field: string; readonly is: 'long text'; readonly value: string }
  | { readonly field: string; readonly is: 'long text in'; readonly value: readonly string[] }
  /** Null, or not. Of a text that can be too long for an index, by the index. */
  | { readonly field: string; readonly is: 'null' | 'long text null'; readonly value: boolean }
  /** The count is in a range, by the indexes of its order. Rows without a count do not meet it. */
  | { readonly field: string; readonly is: 'at least' | 'at most'; readonly value: number }
  /** The text is a part of one of the fields. Case is ignored, and how accents are encoded. */
  | { readonly fields: readonly string[]; readonly is: 'contains'; readonly value: string }
  /** All conditions are met, or at least one. Of no conditions: always, or never. */
  | { readonly is: 'all' | 'any'; readonly of: readonly Condition[] }
  /** The condition is not met: it is false, or unknown because a value is null. */
  | { readonly is: 'not'; readonly of: Condition }
  /** A row of a relation meets a condition. The field `from` holds the id that the relation starts from. */
  | { readonly is: 'some'; readonly relation: Relation; readonly from: string; readonly where: Condition }

/** The rows to read of a list. */
export interface ListRequest extends Window {
  readonly conditions: readonly Condition[]
}

interface ClauseOptions {
  /** The parameters of the statement so far, to which those of the conditions are added. By default the owner's. */
  readonly parameters?: Parameter[]
  /** Whether PostgreSQL can join related rows. Otherwise it looks them up for each row. */
  readonly isJoin?: boolean
}

/**
 * The conditions of a WHERE clause, beginning with that of the owner.
 *
 * @returns the parts of the clause and its parameters. `parameter` adds one more
 */
export function createClause(
  model: DataModel,
  of: Model,
  owned: Ownership,
  conditions: readonly Condition[],
  { parameters = [...owned.parameters], isJoin: isJoinOfAll = true }: ClauseOptions = {},
) {
  const parts: string[] = [owned.conditionOn(of)]

  function parameter(value: string | Date | readonly string[], type: string): string {
    parameters.push(value instanceof Date ? value.toISOString() : value)
    return `$${parameters.length}::${type}`
  }

  /** @param isJoin whether PostgreSQL can join related rows, because the condition is not within an OR or a NOT */
  function conditionOn(subject: Model, condition: Condition, isJoin = true): string {
    const table = model(subject)
    switch (condition.is) {
      case 'all':
      case 'any': {
        const of = condition.of.map((one) => `(${conditionOn(subject, one, isJoin && condition.is === 'all')})`)
        if (of.length === 0) return condition.is === 'all' ? 'true' : 'false'
        return `(${of.join(condition.is === 'all' ? ' AND ' : ' OR ')})`
      }
      case 'not':
        return `(${conditionOn(subject, condition.of, false)}) IS NOT TRUE`
      case 'some': {
        const { relation, from, where } = condition
        const { name, columnOf } = model(relation.model)
        // Columns without a table belong to the innermost one.
        const joined = `"${name}"."${columnOf(relation.by).column}" = "${table.name}"."${table.columnOf(from).column}"`
        const conditions = `${owned.conditionOn(relation.model)} AND ${joined} AND ${conditionOn(relation.model, where)}`
        // Otherwise PostgreSQL could read all related rows first and keep them in memory, however many. With OFFSET it
        // looks up those of a row by an index.
        return `EXISTS (SELECT 1 FROM "${name}" WHERE ${conditions}${isJoin ? '' : ' OFFSET 0'})`
      }
      case 'contains': {
        // When the statement is planned, this is folded to the text that is searched for.
        const pattern = `search_fold(${parameter(`%${escapeLike(condition.value)}%`, 'text')})`
        const columns = condition.fields.map(
          (field) => `search_fold("${table.columnOf(field).column}") LIKE ${pattern}`,
        )
        // The indexes for searches have the tenant in this form, so that no other statement uses them. `$1` is the
        // tenant.
        return `"tenant_app_id" || '' = $1 AND (${columns.join(' OR ')})`
      }
      case 'long text': {
        const column = `"${table.columnOf(condition.field).column}"`
        const value = parameter(condition.value, 'text')
        return `left(${column}, 200) = left(${value}, 200) AND ${column} = ${value}`
      }
      case 'long text in': {
        const column = `"${table.columnOf(condition.field).column}"`
        const beginnings = parameter(condition.value.map(firstCharacters), 'text[]')
        return `left(${column}, 200) = ANY(${beginnings}) AND ${column} = ANY(${parameter(condition.value, 'text[]')})`
      }
      case 'at least':
      case 'at most': {
        const { field, is, value } = condition
        const { column, sqlType } = table.columnOf(field)
        const { expression } = byCount(field, is === 'at least' ? 'DESC' : 'ASC')
        return `${expression(`"${column}"`)} ${is === 'at least' ? '>=' : '<='} ${parameter(String(value), sqlType)}`
      }
      case 'null':
      case 'long text null': {
        const column = `"${table.columnOf(condition.field).column}"`
        const indexed = condition.is === 'null' ? column : `left(${column}, 200)`
        return `${indexed} IS ${condition.value ? '' : 'NOT '}NULL`
      }
      case 'in': {
        const { column, sqlType } = table.columnOf(condition.field)
        // The embedded database knows the list types that exist when it starts. On its first start that is before the
        // migrations.
        return `"${column}" = ANY(${parameter(condition.value, 'text[]')}::${sqlType}[])`
      }
      default: {
        const { column, sqlType } = table.columnOf(condition.field)
        return `"${column}" ${condition.is} ${parameter(condition.value, sqlType)}`
      }
    }
  }

  for (const condition of conditions) parts.push(conditionOn(of, condition, isJoinOfAll))
  return { parameters, parts, parameter }
}

/**
 * Whether a condition consists of others, or is one of many that each have two texts. Clients compose such conditions,
 * so their statements have texts without a bound. All others have a few texts.
 */
export function isComposed(condition: Condition): boolean {
  if (condition.is === 'some') return isComposed(condition.where)
  return ['all', 'any', 'not', 'null', 'long text null'].includes(condition.is)
}

/** Whether the rows that meet a condition can be few of many that are read. */
export function isSearch(condition: Condition): boolean {
  switch (condition.is) {
    case 'all':
      return condition.of.some(isSearch)
    case 'in':
      return condition.field !== 'id'
    default:
      return ['contains', 'long text in', 'null', 'long text null', 'any', 'not', 'some'].includes(condition.is)
  }
}

/**
 * Whether a condition has a part of a text to search for. How many rows have the text decides which plan is fast, so
 * the statement is planned for it.
 */
export function hasSearchedText(condition: Condition): boolean {
  switch (condition.is) {
    case 'contains':
      return true
    case 'all':
    case 'any':
      return condition.of.some(hasSearchedText)
    case 'not':
      return hasSearchedText(condition.of)
    case 'some':
      return hasSearchedText(condition.where)
    default:
      return false
  }
}

/** Makes LIKE match the text literally: without it `50%` would match every text that contains 50. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

// The conditions of a field, for a value: `equal('platform')('YOUTUBE')`.

export const equal =
  (field: string) =>
  (value: string | boolean): Condition => ({ field, is: '=', value: String(value) })

export const equalLongText =
  (field: string) =>
  (value: string): Condition => ({ field, is: 'long text', value })

export const oneOf =
  (field: string) =>
  (value: readonly string[]): Condition => ({ field, is: 'in', value })

export const oneOfLongTexts =
  (field: string) =>
  (value: readonly string[]): Condition => ({ field, is: 'long text in', value })

const nullOf =
  (is: 'null' | 'long text null') =>
  (field: string) =>
  (value: boolean): Condition => ({ field, is, value })

export const isNull = nullOf('null')
export const isNullLongText = nullOf('long text null')

export const containing =
  (...fields: readonly string[]) =>
  (value: string): Condition => ({ fields, is: 'contains', value })

const compareTime =
  (is: '<' | '>') =>
  (field: string) =>
  (value: Date): Condition => ({ field, is, value })

export const after = compareTime('>')
export const before = compareTime('<')

const compareCount =
  (is: 'at least' | 'at most') =>
  (field: string) =>
  (value: number): Condition => ({ field, is, value })

export const countAtLeast = compareCount('at least')
export const countAtMost = compareCount('at most')

/** `some(accountsOfUser, 'id')(equal('platform')('YOUTUBE'))`: some account of the user is on the platform. */
export const some =
  (relation: Relation, from: string) =>
  (where: Condition): Condition => ({ is: 'some', relation, from, where })

/** `exists(accountsOfUser, 'id')(false)`: the user has no account. */
export const exists =
  (relation: Relation, from: string) =>
  (value: boolean): Condition => {
    const found = some(relation, from)({ is: 'all', of: [] })
    return value ? found : { is: 'not', of: found }
  }
