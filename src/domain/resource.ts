import type { Database } from '@fusion-gateway/database'
import type { AnyModel, InsertedRow } from '@fusion-gateway/prisma-trees'
import type { Ids } from '@fusion-gateway/sql'
import type { z } from 'zod'
import type { EventType } from './event/event.ts'

/** A kind of object of the domain, as import, export and seeding need it. */
export interface Resource {
  /** Its name in messages: `user`. */
  readonly name: string
  /** How its records are imported and exported. Absent if it is part of another resource's records. */
  readonly transfer?: Transfer
  /** Absent if its rows are deleted only with those of another resource. */
  readonly deletion?: Deletion
  readonly seed?: Seed
}

export type Json = Record<string, unknown>

/** The import and the export of a resource. Its records have the format of the REST interface. */
export interface Transfer<Item = never> {
  /** The key of a list of such records in REST responses: `users`. An import accepts such a response. */
  readonly listKey?: string
  /** The key by which an import recognises a record: `accounts`. */
  readonly recognisedBy: string
  /** The value of the key `kind`, if a record has it. */
  readonly kind?: string
  /** Keys of which a record has one too, if that key is not enough. */
  readonly withOneOf?: readonly string[]
  /** A key that a record does not have: that of other records with that key. */
  readonly without?: string
  readonly record: z.ZodType<unknown>
  /**
   * Writes records of one tenant. Runs in a transaction. Writing the same records again changes nothing.
   *
   * @throws RecordError if a record contradicts a row that exists
   */
  write(database: Database, tenantAppId: string, records: readonly Item[]): Promise<void>
  readonly export: Export | RecordsExport
}

/** How records are exported: a GraphQL operation that returns them. */
export interface Export {
  readonly operation: string
  /** The path of the records in the operation's data: `users.nodes`. */
  readonly path: string
  /** The connection that is read page by page. Without it, records follow those of another resource. */
  readonly connection?: string
  /** The resource whose records come first, and the variables of the operation for a page of them. */
  readonly belongsTo?: { readonly resource: string; variablesOf(records: readonly Json[]): Json[] }
  /**
   * The changes after which a delta has the record: events of these types are about it; with `events of users`, it is a
   * user, and what belongs to the user. Absent for records that follow others.
   */
  readonly changedBy?: readonly EventType[] | 'events of users'
  /** Keys that records have with null if they have no value, because an import keeps the value of an absent key. */
  readonly nulls?: readonly string[]
  /** Keys of the records that are not exported. */
  readonly without?: readonly string[]
}

/** How records without an operation are exported: they are rows that follow each page of another resource. */
export interface RecordsExport {
  readonly belongsTo: string
  /** @param records the page of the other resource */
  readRecords(database: Database, tenantAppId: string, records: readonly Json[]): AsyncIterable<Json[]>
}

/** How deltas report and import the deletion of a resource. */
export interface Deletion {
  /** The type of its event. Without it, a delta reports the resources that have changed and no longer exist. */
  readonly event?: EventType
  /**
   * Deletes resources of one tenant, as far as they exist. Runs in a transaction.
   *
   * @throws RecordError if one of them must not be deleted
   */
  delete(database: Database, tenantAppId: string, ids: readonly string[]): Promise<void>
}

/** A record that cannot be imported. The message says why. */
export class RecordError extends Error {
  override readonly name = 'RecordError'
}

export interface Seed {
  readonly model: AnyModel
  /** The rows of one person. The same person always has the same rows. */
  rowsOf?(person: Person): InsertedRow[]
  /** Further rows of the demo tenant, of the days before `now`. */
  demoRows?(tenantAppId: string, now: Date): InsertedRow[]
}

/** A generated user and the user's accounts, from which each resource creates its rows. */
export interface Person {
  readonly tenantAppId: string
  /** Those of a seed are numbered from 0, and those of the demo tenant from 1. */
  readonly number: number
  readonly firstName: string
  readonly lastName: string
  readonly fullName: string
  /** The local part of an email address: `ada.lopez.7`. */
  readonly handle: string
  readonly gender: string
  readonly phone: string
  readonly createdAt: Date
  readonly accounts: readonly PersonAccount[]
  /** The id of a row: of the person, of an account by its number, of the second email of an account, … */
  idOf(ids: Ids, ...numbers: readonly number[]): string
  /** Random numbers of one resource. They do not change when another one draws more of them. */
  randomOf(resource: string): Random
}

export interface PersonAccount {
  /** From 1. */
  readonly number: number
  readonly platform: string
  readonly platformAccountId: string
  readonly displayName: string
  readonly linkedAt: Date
  /** When its profile was read. */
  readonly syncedAt: Date
}

/** Random numbers that are the same for the same seed. */
export interface Random {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** An integer from 0 (inclusive) to `limit` (exclusive). */
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item
}

/**
 * The key of a field in REST and in records of an import: `fullName` ⇒ `full_name`. The interface document calls the
 * platform of an account or profile `user_platform`.
 */
export function recordKeyOf(field: string): string {
  if (field === 'platform') return 'user_platform'
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
