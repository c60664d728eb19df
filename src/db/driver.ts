import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { BackendProfile, Db } from 'pg-boss'
import type { JoinedAdapters } from './join-transactions.ts'
import type { Listener, ListenerEvents } from './listener.ts'

/** Runs work in a transaction, in a part of one, and outside of any. */
export type Transactions = Omit<JoinedAdapters, 'adapters'>

/** The connections of a process, at this moment. */
export interface Connections {
  readonly inUse: number
  readonly idle: number
  /** How many statements and transactions wait for one. */
  readonly waiting: number
}

/** A database that is open: either dialect looks the same from here on. */
export interface Driver {
  /** Makes the adapters that Prisma Client, the batched reads and the schema engine send their SQL through. */
  readonly adapters: SqlMigrationAwareDriverAdapterFactory

  /** One transaction for all that some work sends (join-transactions.ts). */
  readonly transactions: Transactions

  /**
   * Whether a migration that did not finish has left nothing behind, so that it can simply be run again: so it is where
   * nobody else has the database, and a script is one transaction.
   */
  readonly undoesInterruptedMigrations: boolean

  /** What pg-boss works with outside of our transactions, and what it calls this dialect. */
  readonly queue: { readonly db: Db; readonly backend: BackendProfile }

  /**
   * Runs `work` on a single session while no other gateway runs its own: for migrations. Waits its turn.
   *
   * @param work given adapters whose statements all go to that session
   */
  exclusively<Result>(work: (adapters: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>): Promise<Result>

  /**
   * Listens to what is announced on a channel (NOTIFY), by this process or another.
   *
   * @throws when the database cannot be reached
   */
  listen(channel: string, events: ListenerEvents): Promise<Listener>

  /** How many connections the statements have, and how many statements wait for one. */
  connections(): Connections

  /** Ends every connection. What is under way fails. */
  close(): Promise<void>
}
