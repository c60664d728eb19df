import pg from 'pg'

/** How many reads share a connection. */
const maxTogether = 4

/** How long a read waits for the reads before it. Then it is sent again on another connection. */
const patienceMilliseconds = 250

interface Read {
  readonly config: pg.QueryConfig
  /** Whether it has its result. It may be sent twice. */
  isSettled: boolean
  resolve(result: pg.QueryResult): void
  reject(error: unknown): void
}

/**
 * A pool in which short reads share connections. Reads that are sent in the same turn of the event loop go to the
 * server in one packet, and its results arrive in order (node-postgres.com/features/pipelining). For a small statement,
 * sending and receiving is most of the work of this process; sharing halves it (docs/decisions/0003-pipelining.md).
 *
 * A read that waits too long behind another one, or fails after another one failed, is sent again by itself.
 */
export class PipeliningPool extends pg.Pool {
  private waiting: Read[] = []
  private readonly responseMilliseconds: number

  /** @param mayShare whether a statement only reads, is short and takes no locks */
  constructor(config: pg.PoolConfig, mayShare: (config: pg.QueryConfig) => boolean) {
    super({ ...config, pipeline: true })
    this.responseMilliseconds = config.query_timeout ?? 0
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      const [config] = args as [pg.QueryConfig | string]
      const isShared = args.length === 1 && typeof config === 'object' && mayShare(config)
      return isShared ? this.read(config) : query(...args)
    }) as pg.Pool['query']
  }

  private read(config: pg.QueryConfig): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      // When this turn has handled all sockets, the reads of their requests are sent together.
      if (this.waiting.length === 0) setImmediate(() => this.sendWaiting())
      this.waiting.push({ config, isSettled: false, resolve, reject })
    })
  }

  private sendWaiting(): void {
    const reads = this.waiting
    this.waiting = []
    for (let from = 0; from < reads.length; from += maxTogether) this.acquire(reads.slice(from, from + maxTogether))
  }

  private acquire(reads: readonly Read[]): void {
    this.connect((error, client, release) => {
      if (client) this.send(client, release, reads)
      else for (const { reject } of reads) reject(error)
    })
  }

  /** Sends reads over a connection, and releases it when the server has answered all of them. */
  private send(client: pg.PoolClient, release: (error?: Error) => void, reads: readonly Read[]): void {
    const left = new Set(reads.filter((read) => !read.isSettled))
    if (left.size === 0) {
      release()
      return
    }
    const sentAgain = new Set<Read>()
    const sendAgain = (read: Read) => {
      if (read.isSettled || sentAgain.has(read)) return
      sentAgain.add(read)
      this.acquire([read])
    }
    // If this process itself was late, the results have arrived, and setImmediate runs after they are read.
    const giveUpWaiting = () => setImmediate(() => [...left].slice(1).forEach(sendAgain))
    const timer = left.size > 1 ? setTimeout(giveUpWaiting, patienceMilliseconds) : undefined
    let failure: Error | undefined

    const { stream } = (client as unknown as { readonly connection: pg.Connection }).connection
    stream.cork()
    let place = 0
    for (const read of left) {
      place += 1
      // The server gives each statement its full time. Ending the connection earlier would leave the server busy.
      const config = { ...read.config, query_timeout: place * this.responseMilliseconds }
      client.query(config, (error, result) => {
        left.delete(read)
        if (!error) {
          read.isSettled = true
          read.resolve(result)
        } else if (failure) sendAgain(read)
        else if (!sentAgain.has(read)) read.reject(error)
        failure ??= error
        if (left.size > 0) return
        clearTimeout(timer)
        // As in any pool, a connection on which a statement failed is not used again.
        release(failure)
      })
    }
    stream.uncork()
  }
}
