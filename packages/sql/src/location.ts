/** The location of the database: a PostgreSQL server, or the embedded PGlite (`dataDir` is a folder, or `memory`). */
export type DatabaseLocation =
  | {
      readonly kind: 'postgresql'
      readonly url: string
      /** The server itself, if `url` is that of PgBouncer in transaction mode. */
      readonly directUrl?: string | undefined
      readonly pool: PoolSettings
      readonly replicas?: ReplicaSettings | undefined
    }
  | { readonly kind: 'embedded'; readonly dataDir: string }

/** Size and timeouts of the connection pool. */
export interface PoolSettings {
  readonly size: number
  readonly connectMilliseconds: number
  /** How long a statement may wait for a connection. */
  readonly acquireMilliseconds: number
  readonly statementMilliseconds: number
}

/** Streaming replicas that serve reads. */
export interface ReplicaSettings {
  readonly urls: readonly string[]
  /** How far a replica may lag behind the primary. A key that has written reads from the primary for this long. */
  readonly lagMilliseconds: number
}
