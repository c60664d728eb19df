import { requireShownYear } from '@fusion-gateway/sql'
import type { Column, Table } from '../data-model.ts'

/** Columns to read, as a list for SELECT and as JSON, and the conversions of results to rows. */
export interface SelectedColumns {
  readonly list: string
  /** An expression over many rows: a JSON text with an array of values for each column. */
  readonly json: string
  /** Whether it has JSON objects, which can be long. */
  readonly hasObjects: boolean
  /**
   * Converts a row of the list to what Prisma's `findMany` would return, value for value, except for times that are
   * read as texts.
   *
   * @throws Error if the row has another number of values than the list has columns
   */
  toRow(values: readonly unknown[]): Record<string, unknown>
  /**
   * Converts the JSON text to such rows, in their order.
   *
   * @throws Error if the text has another number of arrays than there are columns
   */
  toRows(json: string): Record<string, unknown>[]
}

type Decoder = (value: unknown) => unknown

/** Converts values of a driver to those of Prisma Client. Null never reaches a decoder. */
const decoders: Record<string, Decoder> = {
  BigInt: (value) => BigInt(value as string),
  Json: (value) => JSON.parse(value as string),
}

/** The same for values within JSON. Numbers of JavaScript cannot hold every bigint, so they are sent as texts. */
const jsonDecoders: Record<string, Decoder> = {
  BigInt: (value) => BigInt(value as string),
  // JSON has no NaN and no infinity. PostgreSQL writes them as texts.
  Float: Number,
}

/** The lengths of a date, of a time in seconds, and of one in milliseconds. */
const [dateLength, secondsLength, millisecondsLength] = [10, 19, 23]

/**
 * Formats a time of PostgreSQL as `Date.prototype.toJSON` does: `2026-01-31T08:00:00.5+00:00` ⇒
 * `2026-01-31T08:00:00.500Z`. A date is left unchanged, and so is a time that the driver has formatted. Most times are
 * only passed on, and a `Date` costs thirty times as much to create and to format.
 */
function toTimeText(value: unknown): string {
  const text = value as string
  requireShownYear(text)
  if (text.length === dateLength || text.endsWith('Z')) return text
  const time = text.slice(0, text.length - '+00:00'.length)
  return time.length === secondsLength ? `${time}.000Z` : `${time.padEnd(millisecondsLength, '0')}Z`
}

const unchanged: Decoder = (value) => value

const toDate: Decoder = (value) => {
  if (typeof value === 'string') requireShownYear(value)
  return new Date(value as string)
}

/** Converts a value of a column, other than null, to that of Prisma Client. */
export function decoderOf({ type, sqlType }: Column, decodeTime = toDate): Decoder {
  const decode = type === 'DateTime' ? decodeTime : (decoders[type] ?? unchanged)
  return sqlType.endsWith('[]') ? ofEach(decode) : decode
}

const ofEach =
  (decode: Decoder): Decoder =>
  (values) =>
    decode === unchanged ? values : (values as unknown[]).map(decode)

function decoderInJson({ type, sqlType }: Column, decodeTime: Decoder): Decoder | undefined {
  const decode = type === 'DateTime' ? decodeTime : jsonDecoders[type]
  return decode && sqlType.endsWith('[]') ? ofEach(decode) : decode
}

/** Which columns to read, all of them by default, and whether times become a `Date`, as by default, or a text. */
interface Selection {
  readonly isSelected?: (column: Column) => boolean
  readonly times?: 'dates' | 'texts'
}

export function selectColumns(
  table: Table,
  { isSelected = () => true, times = 'dates' }: Selection = {},
): SelectedColumns {
  const columns = table.columns.filter(isSelected)
  const decodeTime = times === 'dates' ? toDate : toTimeText
  const fields = columns.map((column) => ({
    field: column.field,
    decode: decoderOf(column, decodeTime),
    decodeJson: decoderInJson(column, decodeTime),
  }))
  const aggregates = columns.map(({ column, type, sqlType }) => {
    const isList = sqlType.endsWith('[]')
    return `json_agg("${column}"${type === 'BigInt' ? `::text${isList ? '[]' : ''}` : ''})`
  })
  return {
    list: columns.map(({ column }) => `"${column}"`).join(', '),
    hasObjects: columns.some(({ type }) => type === 'Json'),
    json: `json_build_array(${aggregates.join(', ')})::text`,
    toRow(values) {
      checkNumber(values, columns)
      const row: Record<string, unknown> = {}
      for (let index = 0; index < fields.length; index += 1) {
        const value = values[index]
        const { field, decode } = fields[index] as (typeof fields)[number]
        row[field] = value === null ? null : decode(value)
      }
      return row
    },
    toRows(json) {
      const values = JSON.parse(json) as (unknown[] | null)[]
      checkNumber(values, columns)
      for (let index = 0; index < fields.length; index += 1) {
        const decode = fields[index]?.decodeJson
        const column = values[index]
        if (decode && column) values[index] = column.map((value) => (value === null ? null : decode(value)))
      }
      const rows: Record<string, unknown>[] = []
      const length = values[0]?.length ?? 0
      for (let number = 0; number < length; number += 1) {
        const row: Record<string, unknown> = {}
        for (let index = 0; index < fields.length; index += 1) {
          row[(fields[index] as (typeof fields)[number]).field] = values[index]?.[number]
        }
        rows.push(row)
      }
      return rows
    },
  }
}

/**
 * A result of other columns would put values into the wrong fields. The message has no values, because it is logged.
 */
function checkNumber(values: readonly unknown[], columns: readonly Column[]): void {
  if (values.length === columns.length) return
  const fields = columns.map(({ field }) => field).join(', ')
  throw new Error(`The database returned ${values.length} columns instead of ${columns.length}: ${fields}`)
}
