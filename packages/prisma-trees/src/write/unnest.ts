import type { Parameter } from '@fusion-gateway/sql'
import { lastTime } from '@fusion-gateway/sql'
import type { Column } from '../data-model.ts'
import { DbNull, JsonNull } from '../prisma.ts'

/** The value of a column: text, or a value whose text PostgreSQL can read. */
export type GivenValue = string | number | bigint | boolean | Date | readonly Scalar[] | null

type Scalar = string | number | bigint | boolean

/** Whether a statement takes one row, which costs less, or any number of rows. */
export type Arity = 'one' | 'many'

export function arityOf(rows: readonly unknown[]): Arity {
  return rows.length === 1 ? 'one' : 'many'
}

/**
 * Rows as a table `given` with a column `given_<column>` for each column: `unnest($1::text[], …) AS given
 * ("given_name", …)`. The values of a column are one array, so the text of a statement does not depend on the number of
 * rows. One row is `(VALUES ($1::text, …))`.
 *
 * @param first the number of the first parameter
 * @param typed columns whose values in one row have their own types. Citus refuses to convert them in a CASE, and the
 *   expected time anywhere
 */
export function unnestRows(
  columns: readonly string[],
  first: number,
  arity: Arity = 'many',
  typed: readonly Column[] = [],
): string {
  const columnType = (name: string) => typed.find(({ column }) => column === name)?.sqlType ?? 'text'
  const parameters = columns
    .map((name, index) => {
      const type = name === expectedColumn ? 'timestamptz' : arity === 'one' ? columnType(name) : 'text'
      return `$${first + index}::${type}${arity === 'one' ? '' : '[]'}`
    })
    .join(', ')
  const rows = arity === 'one' ? `(VALUES (${parameters}))` : `unnest(${parameters})`
  return `${rows} AS given (${columns.map(givenName).join(', ')})`
}

/** A given value, as the type of its column. */
export function givenValue({ column, sqlType }: Column): string {
  return `${givenName(column)}::${sqlType}`
}

/** The parameters of `unnestRows`: a value or an array for each column. */
export function givenParameters<Row>(
  rows: readonly Row[],
  values: readonly ((row: Row) => GivenValue | undefined)[],
  arity: Arity = 'many',
): Parameter[] {
  return arity === 'one'
    ? rows.flatMap((row) => values.map((read) => toText(read(row) ?? null)))
    : values.map((read) => rows.map((row) => toText(read(row) ?? null)))
}

/**
 * The columns of changes: the value of each column, and whether the change sets it. A value that is not set is kept.
 */
export function changeColumns(columns: readonly Column[]): string[] {
  return columns.flatMap(({ column }) => [column, setsName(column)])
}

/** The value of a column after a change. `kept`: its value before. */
export function changedValue(column: Column, kept: string): string {
  return `CASE WHEN ${setsColumn(column)} THEN ${givenValue(column)} ELSE ${kept} END`
}

function setsColumn({ column }: Column): string {
  return `${givenName(setsName(column))}::boolean`
}

/** Whether a change sets a column to another value than it had before. */
export function isChangedBy(column: Column, before: string): string {
  // The type json has no equality, but PostgreSQL stores it as text, so the text is compared.
  const text = column.type === 'Json' ? '::text' : ''
  return `${setsColumn(column)} AND ${before}${text} IS DISTINCT FROM ${givenValue(column)}${text}`
}

/**
 * The time of a change: `now`, but at least a millisecond after the change before, so that each change has another
 * time, whichever clock it is from. Columns have milliseconds. For a new row, the time `before` is null.
 */
export function timeOfChange(now: string, before: string): string {
  const last = new Date(lastTime).toISOString()
  // Immutable without a time zone, as Citus wants it of what is in a CASE.
  const next = `(${before} AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC'`
  return `least(greatest(${now}::timestamptz, ${next}), '${last}'::timestamptz)`
}

/** Whether a row has the time of the last change that its writer expects. Null expects nothing. */
export function isAsExpected(updatedAt: string): string {
  const expected = givenName(expectedColumn)
  return `(${expected} IS NULL OR ${updatedAt} = ${expected})`
}

/** The column of given rows with the expected time of the last change. */
export const expectedColumn = 'expected_updated_at'

/** Fields to set, as Prisma Client takes them. Those that are absent or undefined keep their value. */
export type Change = Readonly<Record<string, unknown>>

/**
 * The values of `changeColumns` for `givenParameters`. `missing`: the values of fields that are not set, for a new row.
 */
export function changeValues(columns: readonly Column[], missing: Change = {}) {
  return columns.flatMap((column) => [
    (change: Change) =>
      toGiven(column, change[column.field] === undefined ? missing[column.field] : change[column.field]),
    (change: Change) => change[column.field] !== undefined,
  ])
}

const setsName = (column: string) => `sets_${column}`

const givenName = (column: string) => `"given_${column}"`

/**
 * The value of a column for a value as Prisma Client takes it: JSON as a text, a list without `set`, and a date without
 * its time.
 */
export function toGiven({ type, sqlType, isDate }: Column, value: unknown): GivenValue | undefined {
  if (value === undefined || value === null) return value
  if (type === 'Json') return value === DbNull ? null : JSON.stringify(value === JsonNull ? null : value)
  if (isDate) return new Date(value as Date).toISOString().slice(0, '2026-01-31'.length)
  const isSet = typeof value === 'object' && sqlType.endsWith('[]') && !Array.isArray(value)
  return (isSet ? (value as { readonly set: readonly Scalar[] }).set : value) as GivenValue
}

/** The text of a value, which PostgreSQL reads as the type of its column. */
export function toText(value: GivenValue): string | null {
  if (value === null) return null
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'object') return String(value)
  return `{${value.map((one) => `"${String(one).replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}
