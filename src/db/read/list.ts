import type { DataModel, Model, Row } from '../data-model.ts'
import type { Parameter } from '../statement.ts'
import type { Ownership } from './owner.ts'
import { maxLimit, type Window } from './page.ts'
import type { SelectedRow } from './relation.ts'

/** A condition on the rows of a list. `contains` matches a part of a text and ignores case. */
export interface Condition {
  readonly field: string
  readonly is: '=' | '<' | '>' | '>=' | 'in' | 'contains'
  readonly value: string | Date | readonly string[]
}

/** The rows to read of a list. */
export interface ListRequest extends Window {
  readonly conditions: readonly Condition[]
}

/** A row of a list: its ids, its creation time, and the fields that the operation selects. */
export type ListedRow<M extends Model> = SelectedRow<M> & Pick<Row<M>, Extract<keyof Row<M>, 'createdAt'>>

/**
 * The statement that reads rows of a list. Its last parameter is the limit.
 *
 * @param columns the list for SELECT
 */
export function pageText(model: DataModel, of: Model, columns: string, owned: Ownership, request: ListRequest) {
  const table = model(of)
  const { where, parameters } = whereClause(model, of, owned, request)
  const order = `"${table.columnOf(request.orderBy).column}" ${request.direction}, "id" ${request.direction}`
  // The inner limit is a constant, from which the planner estimates; the outer one is a parameter, so that the text is the
  // same for every page size. Without the inner one PostgreSQL would plan the statement again each time.
  const text =
    `SELECT ${columns} FROM (SELECT * FROM "${table.name}" WHERE ${where} ORDER BY ${order} LIMIT ${maxLimit}) AS page ` +
    `LIMIT $${parameters.length + 1}::integer`
  return { text, parameters: [...parameters, String(request.limit)] }
}

/** The statement that counts the rows that meet the conditions. */
export function countText(model: DataModel, of: Model, owned: Ownership, conditions: readonly Condition[]) {
  const { where, parameters } = whereClause(model, of, owned, { conditions, orderBy: 'createdAt' })
  return { text: `SELECT count(*) FROM "${model(of).name}" WHERE ${where}`, parameters }
}

function whereClause(
  model: DataModel,
  of: Model,
  owned: Ownership,
  { conditions, orderBy, above, below }: Pick<ListRequest, 'conditions' | 'orderBy' | 'above' | 'below'>,
) {
  const table = model(of)
  const parameters: Parameter[] = [...owned.parameters]
  const parameter = (value: Condition['value'], type: string) => {
    parameters.push(value instanceof Date ? value.toISOString() : value)
    return `$${parameters.length}::${type}`
  }
  const parts = [owned.conditionOn(of)]
  for (const { field, is, value } of conditions) {
    const { column, sqlType } = table.columnOf(field)
    if (is === 'in') parts.push(`"${column}" = ANY(${parameter(value, `${sqlType}[]`)})`)
    else if (is === 'contains') parts.push(`"${column}" ILIKE ${parameter(`%${escapeLike(String(value))}%`, sqlType)}`)
    else parts.push(`"${column}" ${is} ${parameter(value, sqlType)}`)
  }
  const { column } = table.columnOf(orderBy)
  for (const [sign, bound] of [['>', above] as const, ['<', below] as const]) {
    if (bound) {
      const values = `${parameter(bound.time, 'timestamptz')}, ${parameter(bound.id, 'text')}`
      parts.push(`("${column}", "id") ${sign} (${values})`)
    }
  }
  return { where: parts.join(' AND '), parameters }
}

/** Makes LIKE match the text literally: without it `50%` would match every text that contains 50. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Limits on the creation time of rows. Absent and null do not restrict the list. */
export interface CreatedFilter {
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
}

/** The conditions of a creation time strictly between two times. */
export function createdBetween({ createdAfter, createdBefore }: CreatedFilter): Condition[] {
  return [
    ...(createdAfter != null ? [{ field: 'createdAt', is: '>' as const, value: createdAfter }] : []),
    ...(createdBefore != null ? [{ field: 'createdAt', is: '<' as const, value: createdBefore }] : []),
  ]
}
