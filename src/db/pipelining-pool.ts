import pg from 'pg'

/** How many reads go over a connection together at most: each waits for those before it. */
const maxTogether = 4

/** PostgreSQL's `invalid_sql_statement_name`. */
const missingStatement = '26000'

interface Read {
  readonly config: pg.QueryConfig
  resolve(result: pg.QueryResult): void
  reject(error: unknown): void
}

/**
 * A pool in which short reads that are asked for in one turn of the event loop go over a connection together: in one
 * packet, answered in order (node-postgres.com/features/pipelining). What a process does for a small statement is mostly
 * the sending and receiving of it, and this halves it. Each is still a statement of its own, and fails alone.
 */
export class PipeliningPool extends pg.Pool {
  private waiting: Read[] = []

  /** @param isShort whether others may wait for a statement, by its text: it only reads, few rows, and takes no lock */
  constructor(config: pg.PoolConfig, isShort: (text: string) => boolean) {
    super({ ...config, pipeline: true })
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      const [config] = args as [pg.QueryConfig | string]
      const mayWait = args.length === 1 && typeof config === 'object' && isShort(config.text)
      return mayWait ? this.read(config) : query(...args)
    }) as pg.Pool['query']
  }

  private read(config: pg.QueryConfig): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      // Once this turn has looked at all sockets: what their requests read goes together.
      if (this.waiting.length === 0) setImmediate(() => this.sendWaiting())
      this.waiting.push({ config, resolve, reject })
    })
  }

  private sendWaiting(): void {
    const reads = this.waiting
    this.waiting = []
    for (let from = 0; from < reads.length; from += maxTogether) {
      const together = reads.slice(from, from + maxTogether)
      this.connect((error, client, release) => {
        if (client) send(client, release, together)
        else for (const { reject } of together) reject(error)
      })
    }
  }
}

/** Sends reads over a connection, and gives it back once all are answered. */
function send(client: pg.PoolClient, release: (error?: Error) => void, reads: readonly Read[]): void {
  const { stream } = (client as unknown as { readonly connection: pg.Connection }).connection
  let left = reads.length
  let failure: Error | undefined
  stream.cork()
  for (const { config, resolve, reject } of reads) {
    client.query(config, (error: (Error & { readonly code?: string }) | undefined, result) => {
      // A statement that one before could not prepare is not there, for the reason that is known already.
      if (error) reject(error.code === missingStatement ? (failure ?? error) : error)
      else resolve(result)
      failure ??= error
      left -= 1
      // As a pool does: a connection on which a statement has failed is not used again.
      if (left === 0) release(failure)
    })
  }
  stream.uncork()
}
