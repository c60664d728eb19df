import type { Connector } from './adapter.ts'

/** A subscription to a notification channel (LISTEN). */
export interface Listener {
  close(): Promise<void>
}

export interface ListenerEvents {
  onMessage(payload: string): void
  /** The connection was lost and made again. Notifications sent in between were missed. */
  onGap(): void
}

/** The number of connections of a process, by state. */
export interface Connections {
  readonly inUse: number
  readonly idle: number
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number
}

/** An open database: PostgreSQL and PGlite look the same from here on. */
export interface Driver extends Connector {
  /**
   * Whether the server gathers the statistics that plans are chosen by. The embedded database has no process that does.
   */
  readonly gathersStatistics: boolean

  /** A connection of its own for probes. Absent if there is only one connection. */
  readonly probing?: Connector

  /** Whether other processes can open the database, so that changes must be looked for. */
  readonly isShared: boolean

  /**
   * Runs `work` on a single session while no other gateway does the same, and waits for others to finish. Migrations
   * use it.
   *
   * @param work receives a connector whose statements all go to that session
   * @param lockMilliseconds how long it waits for others: 60 s
   * @throws OperatorError naming who holds the lock, if that takes too long
   */
  exclusively<Result>(work: (connector: Connector) => Promise<Result>, lockMilliseconds?: number): Promise<Result>

  /**
   * Opens and ends a session of DATABASE_DIRECT_URL. Absent if it is not set.
   *
   * @throws OperatorError if it is a pooler that shares sessions
   */
  reachDirectly?(): Promise<void>

  /**
   * Reads which node of a distributed database has the rows of which tenants. Absent if they are not followed.
   *
   * @returns the number of servers
   */
  readPlacement?(): Promise<number>

  /**
   * Listens to a notification channel.
   *
   * @throws if the database cannot be reached
   */
  listen(channel: string, events: ListenerEvents): Promise<Listener>

  /**
   * Copies the files of the database within its folder, unless the copy exists. Absent if this process does not own the
   * files.
   *
   * @returns the folder of the copy
   */
  copyAside?(name: string): Promise<string>

  /**
   * Requires that the disk has space for further writes. Absent if this process does not own the files.
   *
   * @throws if there is too little space
   */
  requireSpace?(): void

  connections(): Connections

  /** Ends every connection. Statements under way fail. */
  close(): Promise<void>
}
