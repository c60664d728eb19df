import type { Viewer } from '@fusion-gateway/auth'
import type { LoggedModels } from '@fusion-gateway/pothos-trees'
import type { Model } from '@fusion-gateway/prisma-trees'
import type { Sql } from '@fusion-gateway/sql'
import type { Context } from './context.ts'

// What the log of events tells the engine. The domain reads it (domain/event/change-log.ts).

/** A position in the log of a tenant: what a snapshot of the database has seen of it. */
export interface LogPosition {
  /** Transactions that the snapshot could not know write events with ids from here on. */
  readonly begun: string
  /** The beginnings of the ids of the transactions that ran. */
  readonly running: readonly string[]
  /** What the database said of itself before: a short read of it can tell that nothing has changed since. */
  readonly state?: string
}

export interface Change {
  /** The models whose rows can have changed with it. */
  readonly models: readonly Model[]
  /** The ids of the row and of the rows that it belongs to. */
  readonly ids: readonly string[]
}

export interface LogChanges {
  /** Differs if the log is another one than before, such as that of a restored backup. */
  readonly server: string
  /** Where the log is read from the next time. */
  readonly position: LogPosition
  /** The changes since the position; undefined if there are too many, or the tenant is deleted. */
  readonly changes: readonly Change[] | undefined
}

/**
 * Reads what has changed after a position, and without one only a position, by one statement and in its snapshot. Where
 * this statement is expensive, shorter ones first look whether anything has changed.
 *
 * @returns undefined if nothing has changed at all, so that the position is still the last one
 */
export type ReadChanges = (
  sql: Sql,
  tenantAppId: string,
  after: LogPosition | undefined,
) => Promise<LogChanges | undefined>

export interface ChangeLog {
  /** The models of whose rows each change is an event. */
  readonly models: ReadonlySet<Model>
  readonly readChanges: ReadChanges
  /** Reads the position that a client follows from. Undefined if the viewer may not follow the log. */
  readonly readPosition: (context: Pick<Context, 'sql' | 'viewer'>) => Promise<string | undefined>
  /** What live queries follow. */
  readonly live: LiveChanges
}

/** How live queries learn of changes without asking for each of them. */
export interface LiveChanges extends LoggedModels {
  /**
   * Calls back when something may have been written, until the returned function is called.
   *
   * @throws if the database cannot be reached
   */
  watch(onWritten: () => void): Promise<() => void>
  /** Finds those of some tenants in whose logs something may have been written after a position, by one statement. */
  findWritten(followed: readonly FollowedTenant[]): Promise<readonly string[]>
  /** The models whose changes are announced, besides or instead of being in the log. */
  readonly announced: ReadonlySet<Model>
  /**
   * Calls back after changes of announced rows, until the returned function is called. Without a tenant, any of them can
   * have changed.
   *
   * @throws if the database cannot be reached
   */
  listen(onChange: (tenantAppId?: string, model?: string) => void): Promise<() => void>
  /** The model of the events of the log. */
  readonly ofEvents: Model
  /**
   * Calls back when a viewer can read more events, until the returned function is called.
   *
   * @param onFailure called when they can be followed no longer
   * @throws if the database cannot be reached
   */
  followEvents(viewer: Viewer, onEvents: () => void, onFailure: (error: unknown) => void): Promise<() => void>
}

export interface FollowedTenant {
  readonly tenantAppId: string
  readonly server: string | undefined
  readonly position: LogPosition | undefined
}
