import type { DataModel, Model } from '../data-model.ts'
import type { Parameter } from '../statement.ts'
import { byCount } from './order.ts'
import type { Ownership } from './owner.ts'
import { maxLimit, type Window } from './page.ts'

/** A condition on the rows of a list. */
export type Condition =
  | { readonly field: string; readonly is: '=' | '<' | '>' | '<=' | '>='; readonly value: string | Date }
  | { readonly field: string; readonly is: 'in'; readonly value: readonly string[] }
  /** Equal to a text that can be too long for an index, which has only its first 200 characters. */
  | { readonly field: string; readonly is: 'long text'; readonly value: string }
  /** The count is in a range, by the indexes of its order. Rows without a count do not meet it. */
  | { readonly field: string; readonly is: 'at least' | 'at most'; readonly value: number }
  /** The text is a part of one of the fields. Case is ignored. */
  | { readonly fields: readonly string[]; readonly is: 'contains'; readonly value: string }
  /** A row of another model refers to the row, by the field `by`, and meets a condition. */
  | { readonly is: 'referred to'; readonly from: Model; readonly by: string; readonly where: Condition }

/** The rows to read of a list. */
export interface ListRequest extends Window {
  readonly conditions: readonly Condition[]
}

/**
 * The statement that reads rows of a list. Its last parameter is the limit.
 *
 * @param columns the list for SELECT
 */
export function pageText(model: DataModel, of: Model, columns: string, owned: Ownership, request: ListRequest) {
  const table = model(of)
  const { order, direction, above, below, limit } = request
  const clause = createClause(model, of, owned)
  for (const condition of request.conditions) clause.add(condition)
  const key = order.expression(`"${table.columnOf(order.field).column}"`)
  for (const [sign, position] of [['>', above] as const, ['<', below] as const]) {
    if (!position) continue
    const values = `${clause.parameter(position.value, order.sqlType)}, ${clause.parameter(position.id, 'text')}`
    clause.parts.push(`(${key}, "id") ${sign} (${values})`)
  }
  // The planner estimates from the inner limit, which is a constant. The outer limit is a parameter, so that the text is the
  // same for every page size. Without the inner limit PostgreSQL would plan the statement again each time.
  const text =
    `SELECT ${columns} FROM (SELECT * FROM "${table.name}" WHERE ${clause.parts.join(' AND ')} ` +
    `ORDER BY ${key} ${direction}, "id" ${direction} LIMIT ${maxLimit}) AS page ` +
    `LIMIT $${clause.parameters.length + 1}::integer`
  return { text, parameters: [...clause.parameters, String(limit)] }
}

/** The statement that counts the rows that meet the conditions. */
export function countText(model: DataModel, of: Model, owned: Ownership, conditions: readonly Condition[]) {
  const clause = createClause(model, of, owned)
  for (const condition of conditions) clause.add(condition)
  const text = `SELECT count(*) FROM "${model(of).name}" WHERE ${clause.parts.join(' AND ')}`
  return { text, parameters: clause.parameters }
}

/** The statement that counts the rows for each value of a field, the most frequent ones first. */
export function countByText(model: DataModel, of: Model, owned: Ownership, field: string) {
  const { name, columnOf } = model(of)
  const { column } = columnOf(field)
  const text =
    `SELECT "${column}"::text, count(*) FROM "${name}" WHERE ${owned.conditionOn(of)} ` +
    `GROUP BY "${column}" ORDER BY 2 DESC, 1`
  return { text, parameters: owned.parameters }
}

/** The conditions of a WHERE clause, beginning with that of the owner. */
function createClause(model: DataModel, of: Model, owned: Ownership) {
  const parameters: Parameter[] = [...owned.parameters]
  const parts: string[] = [owned.conditionOn(of)]

  function parameter(value: string | Date | readonly string[], type: string): string {
    parameters.push(value instanceof Date ? value.toISOString() : value)
    return `$${parameters.length}::${type}`
  }

  function conditionOn(subject: Model, condition: Condition): string {
    const table = model(subject)
    switch (condition.is) {
      case 'referred to': {
        const { from, by, where } = condition
        const { name, columnOf } = model(from)
        const conditions = `${owned.conditionOn(from)} AND ${conditionOn(from, where)}`
        return `"id" IN (SELECT "${columnOf(by).column}" FROM "${name}" WHERE ${conditions})`
      }
      case 'contains': {
        const pattern = parameter(`%${escapeLike(condition.value)}%`, 'text')
        const columns = condition.fields.map((field) => `"${table.columnOf(field).column}" ILIKE ${pattern}`)
        // The indexes for searches have the tenant in this form, so that no other statement uses them. `$1` is the tenant.
        return `"tenant_app_id" || '' = $1 AND (${columns.join(' OR ')})`
      }
      case 'long text': {
        const column = `"${table.columnOf(condition.field).column}"`
        const value = parameter(condition.value, 'text')
        return `left(${column}, 200) = left(${value}, 200) AND ${column} = ${value}`
      }
      case 'at least':
      case 'at most': {
        const { field, is, value } = condition
        const { column, sqlType } = table.columnOf(field)
        const { expression } = byCount(field, is === 'at least' ? 'DESC' : 'ASC')
        return `${expression(`"${column}"`)} ${is === 'at least' ? '>=' : '<='} ${parameter(String(value), sqlType)}`
      }
      case 'in': {
        const { column, sqlType } = table.columnOf(condition.field)
        return `"${column}" = ANY(${parameter(condition.value, `${sqlType}[]`)})`
      }
      default: {
        const { column, sqlType } = table.columnOf(condition.field)
        return `"${column}" ${condition.is} ${parameter(condition.value, sqlType)}`
      }
    }
  }

  return { parameters, parts, parameter, add: (condition: Condition) => void parts.push(conditionOn(of, condition)) }
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

export const atLeast = compareCount('at least')
export const atMost = compareCount('at most')
