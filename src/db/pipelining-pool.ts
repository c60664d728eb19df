import pg from 'pg'

/** How many reads go over a connection together at most. */
const maxTogether = 4

/** How long a read waits for those before it until it is asked again on a connection of its own. */
const patienceMilliseconds = 250

interface Read {
  readonly config: pg.QueryConfig
  /** Whether it has its answer: it may be asked twice. */
  isAnswered: boolean
  resolve(result: pg.QueryResult): void
  reject(error: unknown): void
}

/**
 * A pool in which short reads that are asked for in one turn of the event loop go over a connection together: in one
 * packet, answered in order (node-postgres.com/features/pipelining). What a process does for a small statement is mostly
 * the sending and receiving of it, and this halves it.
 *
 * Each is still a statement of its own. One that waits too long behind another, for a lock perhaps, or fails after another
 * has, is asked again by itself: it only reads.
 */
export class PipeliningPool extends pg.Pool {
  private waiting: Read[] = []
  private readonly answerMilliseconds: number

  /** @param isShort whether others may wait for a statement, by its text: it only reads, few rows, and takes no lock */
  constructor(config: pg.PoolConfig, isShort: (text: string) => boolean) {
    super({ ...config, pipeline: true })
    this.answerMilliseconds = config.query_timeout ?? 0
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
      this.waiting.push({ config, isAnswered: false, resolve, reject })
    })
  }

  private sendWaiting(): void {
    const reads = this.waiting
    this.waiting = []
    for (let from = 0; from < reads.length; from += maxTogether) this.ask(reads.slice(from, from + maxTogether))
  }

  private ask(reads: readonly Read[]): void {
    this.connect((error, client, release) => {
      if (client) this.send(client, release, reads)
      else for (const { reject } of reads) reject(error)
    })
  }

  /** Sends reads over a connection, and gives it back once the server is done with all of them. */
  private send(client: pg.PoolClient, release: (error?: Error) => void, reads: readonly Read[]): void {
    const left = new Set(reads.filter((read) => !read.isAnswered))
    if (left.size === 0) {
      release()
      return
    }
    const askedAgain = new Set<Read>()
    const askAgain = (read: Read) => {
      if (read.isAnswered || askedAgain.has(read)) return
      askedAgain.add(read)
      this.ask([read])
    }
    // When this process was late itself, the answers are here, and come first.
    const passOn = () => setImmediate(() => [...left].slice(1).forEach(askAgain))
    const patience = left.size > 1 ? setTimeout(passOn, patienceMilliseconds) : undefined
    let failure: Error | undefined

    const { stream } = (client as unknown as { readonly connection: pg.Connection }).connection
    stream.cork()
    let place = 0
    for (const read of left) {
      place += 1
      // The server gives each its time: who hangs up before that leaves it busy, and opens another connection.
      const config = { ...read.config, query_timeout: place * this.answerMilliseconds }
      client.query(config, (error, result) => {
        left.delete(read)
        if (!error) {
          read.isAnswered = true
          read.resolve(result)
        } else if (failure) askAgain(read)
        else if (!askedAgain.has(read)) read.reject(error)
        failure ??= error
        if (left.size > 0) return
        clearTimeout(patience)
        // As a pool does: a connection on which a statement has failed is not used again.
        release(failure)
      })
    }
    stream.uncork()
  }
}
