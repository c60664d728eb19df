import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { Parameter, Statement } from './statement.ts'

export interface StatementResult {
  /** Each row is a list of values in the order of the columns. */
  readonly rows: unknown[][]
  /** How many rows the statement inserted, updated or deleted. */
  readonly count: number
}

export type Send = (statement: Statement, parameters: readonly Parameter[]) => Promise<StatementResult>

export interface OpenTransaction {
  readonly send: Send
  /** Ends it, and gives its connection back, also if that fails. */
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<void>
}

/** A server that statements are sent to. */
export interface Server {
  readonly send: Send
  begin(): Promise<OpenTransaction>
}

/**
 * A server of a distributed database. It has the tables of tenants and keys, and most have rows of tenants. While it
 * does not answer, what is sent to it fails at once.
 */
export interface DatabaseNode extends Server {
  /** `host:port`, as the other servers know it. */
  readonly name: string
  /** Why nothing is sent to it. Undefined: it answers. */
  problem(): unknown
  /** Whether it answers, and numbers events as another server, so that readers would miss some. */
  isForeign(): boolean
  /** Whether it has rows of tenants. */
  hasRows(): boolean
  /** Sends a statement that lists something of all tenants, about those that this server has. */
  list(statement: Statement, parameters: readonly Parameter[]): Promise<unknown[][]>
}

/** Called when a node stops answering, with the reason, and without one when it is back. */
export type NodeObserver = (node: string, problem: unknown) => void

/** The access to a database. */
export interface Connector extends Server {
  runScript(script: string): Promise<void>
  /**
   * Sends a read of a request to a replica, if one may serve it; otherwise calls `sendToPrimary`.
   *
   * @param request the same object for all reads of the request
   */
  routeRead?(
    request: object,
    ...sent: [...Parameters<Send>, sendToPrimary: () => Promise<StatementResult>]
  ): Promise<StatementResult>
  /** Sends a read that concerns no tenant: if the server is lost, to another one that has the same rows. */
  read?: Send
  /** The servers of a distributed database, if they are followed. */
  nodes?(): readonly DatabaseNode[]
  /** The one with the rows of a tenant. Any server forwards the statements of others. */
  nodeOf?(tenantAppId: string): DatabaseNode | undefined
  /** Whether the rows of tenants are on several servers. It is known when there was a session. Absent: they are not. */
  isDistributed?(): boolean
}

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
  readonly prismaAdapter: SqlDriverAdapterFactory

  /**
   * Whether the server gathers the statistics that plans are chosen by. The embedded database has no process that does.
   */
  readonly gathersStatistics: boolean

  /** Connections for probes and checks of the log, which wait for no request. Absent if there is but one connection. */
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
   * Begins to send statements about a tenant of a distributed database to the node that has its rows. Resolves when
   * each node has answered, or has failed. Absent if the database cannot be distributed.
   */
  follow?(onNode?: NodeObserver): Promise<void>

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
