import type { Column, Table } from '../data-model.ts'

/** Columns to read: the list for SELECT, and the conversion of a row of the result. */
export interface SelectedColumns {
  readonly list: string
  /** Converts a row to what Prisma's `findMany` would return, value for value. */
  toRow(values: readonly unknown[]): Record<string, unknown>
}

type Decoder = (value: unknown) => unknown

/** Converts values of a driver adapter to those of Prisma Client. Null never reaches a decoder. */
const decoders: Record<string, Decoder> = {
  BigInt: (value) => BigInt(value as string),
  DateTime: (value) => new Date(value as string),
  Json: (value) => JSON.parse(value as string),
}

const unchanged: Decoder = (value) => value

/** Selects the columns for which `isSelected` returns true; all of them by default. */
export function selectColumns(table: Table, isSelected: (column: Column) => boolean = () => true): SelectedColumns {
  const columns = table.columns.filter(isSelected)
  const fields = columns.map(({ field, type }) => ({ field, decode: decoders[type] ?? unchanged }))
  return {
    list: columns.map(({ column }) => `"${column}"`).join(', '),
    toRow(values) {
      const row: Record<string, unknown> = {}
      for (let index = 0; index < fields.length; index += 1) {
        const value = values[index]
        const { field, decode } = fields[index] as (typeof fields)[number]
        row[field] = value === null ? null : decode(value)
      }
      return row
    },
  }
}

/** Whether a field holds an id. Ids are always read: relations start from them. */
export function isIdField(field: string): boolean {
  return field === 'id' || field.endsWith('Id')
}
