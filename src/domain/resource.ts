import type { z } from 'zod'
import type { Model } from '../engine/db/data-model.ts'
import type { Database } from '../engine/db/database.ts'
import type { InsertedRow } from '../engine/db/insert.ts'
import type { Person } from './seed/person.ts'

/** A kind of object of the domain: what import, export and seeding must know of it. */
export interface Resource {
  /** Its name in messages: `user`. */
  readonly name: string
  /** How its records are imported and exported. Absent if it is part of another resource's records. */
  readonly transfer?: Transfer
  readonly seed?: Seed
}

export type Json = Record<string, unknown>

/** The import and the export of a resource. Its records have the format of the REST interface. */
export interface Transfer<Record = never> {
  /** The key under which REST answers list such records: `users`. An import accepts such an answer. */
  readonly listKey?: string
  /** The key by which an import recognises a record: `accounts`. */
  readonly recognisedBy: string
  readonly record: z.ZodType<unknown>
  /**
   * Writes records of one tenant. Runs in a transaction. Writing the same records again changes nothing.
   *
   * @throws RecordError if a record contradicts a row that exists
   */
  write(database: Database, tenantAppId: string, records: readonly Record[]): Promise<void>
  readonly export: Export
}

/** How records are exported: a GraphQL operation that returns them. */
export interface Export {
  readonly operation: string
  /** The path of the records in the operation's data: `users.nodes`. */
  readonly path: string
  /**
   * The connection that is read page by page, with the variables `first` and `after`. Without it, the records belong to
   * the records of another resource, and follow each page of them.
   */
  readonly connection?: string
  /** The resource whose records come first, and the variables of the operation for a page of them. */
  readonly belongsTo?: { readonly resource: string; variablesOf(records: readonly Json[]): Json[] }
  /** Keys of the records that are not exported. */
  readonly without?: readonly string[]
}

/** A record that cannot be imported. The message says why. */
export class RecordError extends Error {
  override readonly name = 'RecordError'
}

export interface Seed {
  readonly model: Model
  /** The rows of one person. The same person always has the same rows. */
  rowsOf?(person: Person): InsertedRow[]
  /** Further rows of the demo tenant. */
  demoRows?(tenantAppId: string): InsertedRow[]
}
