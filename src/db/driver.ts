import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { BackendProfile, Db } from 'pg-boss'
import type { Listener, ListenerEvents } from './listener.ts'

/** A database that is open: either dialect looks the same from here on. */
export interface Driver {
  /** Makes the adapters that Prisma Client, the batched reads and the schema engine send their SQL through. */
  readonly adapters: SqlMigrationAwareDriverAdapterFactory

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

  /** Ends every connection. What is under way fails. */
  close(): Promise<void>
}
