import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** A database that is open: either dialect looks the same from here on. */
export interface Driver {
  /** Makes the adapters that Prisma Client, the batched reads and the schema engine send their SQL through. */
  readonly adapters: SqlMigrationAwareDriverAdapterFactory

  /**
   * Runs `work` on a single session while no other gateway runs its own: for migrations. Waits its turn.
   *
   * @param work given adapters whose statements all go to that session
   */
  exclusively<Result>(work: (adapters: SqlMigrationAwareDriverAdapterFactory) => Promise<Result>): Promise<Result>

  /** Ends every connection. What is under way fails. */
  close(): Promise<void>
}
