import { isStorableText, isStorableTime } from '../storable.ts'

export type Direction = 'ASC' | 'DESC'

export const opposite = (direction: Direction): Direction => (direction === 'ASC' ? 'DESC' : 'ASC')

/** The order of the rows of a list. The database has an index on the same expression. */
export interface Order {
  /**
   * The orders of the rows that are equal in this one. They need no index. Rows that are equal in all are ordered by
   * id.
   */
  readonly ties?: readonly Order[]
  readonly direction: Direction
  readonly field: string
  readonly sqlType: string
  /** The expression to compare, given the column of the field. It is never null. */
  expression(column: string): string
  /** The value of a row, as text. */
  textOf(row: Readonly<Record<string, unknown>>): string
  /** The parameter for such a text; undefined if no row can have it. */
  parameterOf(text: string): string | undefined
}

/** The order by a time. */
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

/** The limit of an index entry: imported names have no maximum length. */
const maxCharacters = 200

/** The order by the first 200 characters of a text, in the collation of the database. */
export function byText(field: string, direction: Direction): Order {
  return {
    direction,
    field,
    sqlType: 'text',
    expression: (column) => `left(${column}, ${maxCharacters})`,
    textOf: (row) => firstCharacters(String(row[field])),
    parameterOf: (text) => (isStorableText(text) && firstCharacters(text) === text ? text : undefined),
  }
}

/** The order by a count that can be null. Rows without a count come last, in both directions. */
export function byCount(field: string, direction: Direction): Order {
  // No count is negative or above 2^53 − 1. An expression that is never null has a position for every row.
  const last = direction === 'ASC' ? '9007199254740992' : '-1'
  return {
    direction,
    field,
    sqlType: 'bigint',
    expression: (column) => `coalesce(${column}, ${last})`,
    textOf: (row) => String(row[field] ?? last),
    parameterOf: (text) => (/^(-1|\d{1,16})$/.test(text) ? text : undefined),
  }
}

/** The part of a text that an index has. */
export function firstCharacters(text: string): string {
  return text.length <= maxCharacters ? text : [...text].slice(0, maxCharacters).join('')
}
