import type pg from 'pg'
import type { Connector, DatabaseNode, NodeObserver, Send, Server, StatementResult } from '../driver.ts'
import type { PoolSettings } from '../location.ts'

export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** Opens a pool, which connects when it is used: of a node or, without one, of the server of the URL. */
export type OpenPool = (node: NodeAddress | undefined, sizes?: Partial<PoolSettings>) => pg.Pool

/** The nodes of a distributed database, to which statements about their tenants go. */
export interface FollowedNodes extends Required<Pick<Connector, 'nodes' | 'nodeOf'>> {
  /** Begins to follow them. Resolves when each node has been checked. */
  follow(onNode?: NodeObserver): Promise<void>
  /** The server for what concerns no tenant: that of the URL, or any other while that one fails. */
  forAll(): Server | undefined
  /** Sends a read to the server for what concerns no tenant, and if that one is lost to the next one. */
  readForAll(...sent: Parameters<Send>): Promise<StatementResult> | undefined
  /** The server that takes the place of that of the URL, while that one fails. */
  standIn(): DatabaseNode | undefined
  pools(): readonly pg.Pool[]
  close(): Promise<void>
}

/** @param primary the pool of the server that the URL names, which knows the placement */
export type FollowNodes = (primary: pg.Pool, open: OpenPool) => FollowedNodes
