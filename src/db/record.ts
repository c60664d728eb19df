import type { Table } from './data-model.ts'
import type { Account, EmailRecord, Job, Profile, User } from './generated/prisma/client.ts'

/** The models that are read past Prisma Client, as Prisma types their rows. */
export interface Rows {
  User: User
  Account: Account
  Profile: Profile
  EmailRecord: EmailRecord
  Job: Job
}

/** Columns to read: the list for SELECT, and how a row of the answer becomes a record. */
export interface Selection {
  readonly list: string
  /** The record that Prisma's `findMany` would make of the same row, value for value. */
  toRecord(row: readonly unknown[]): Record<string, unknown>
}

type Decoder = (value: unknown) => unknown

/** What a driver adapter hands over, as Prisma Client would hand it on. Null is kept before these are asked. */
const decoders: Record<string, Decoder> = {
  BigInt: (value) => BigInt(value as string),
  DateTime: (value) => new Date(value as string),
  Json: (value) => JSON.parse(value as string),
}

const asItIs: Decoder = (value) => value

/**
 * Makes a selection ready.
 *
 * @param names when given, the fields of these names and the ids, and nothing else
 * @param also fields that are read in any case
 */
export function select(table: Table, names?: ReadonlySet<string>, also: readonly string[] = []): Selection {
  const columns = table.columns.filter(({ field }) => !names || isId(field) || names.has(field) || also.includes(field))
  const read = columns.map(({ field, type }) => ({ field, decode: decoders[type] ?? asItIs }))
  return {
    list: columns.map(({ column }) => `"${column}"`).join(', '),
    toRecord(row) {
      const record: Record<string, unknown> = {}
      for (let index = 0; index < read.length; index += 1) {
        const value = row[index]
        const { field, decode } = read[index] as (typeof read)[number]
        record[field] = value === null ? null : decode(value)
      }
      return record
    },
  }
}

/** What a row is found by, and what it points to. */
function isId(field: string): boolean {
  return field === 'id' || field.endsWith('Id')
}
