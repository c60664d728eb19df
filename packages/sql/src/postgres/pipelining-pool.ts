import { LRUCache } from 'lru-cache'
import pg from 'pg'
import { isStalePlan } from '../errors.ts'
import { Client } from './client.ts'

/** PostgreSQL's code for a write in a read-only transaction, as all those of a standby are. */
const readOnlyCode = '25006'

export function isReadOnly(error: object): boolean {
  return 'code' in error && error.code === readOnlyCode
}

export type ConnectionClass = new (
  config?: string | pg.ClientConfig,
) => pg.Client & {
  /** Called when a write found a read-only transaction: the server is a standby. Ends all connections of the class. */
  refuseServer(error: Error): void
}

/** How many prepared statements a connection keeps. Each costs memory on the server. */
const maxPrepared = 200

/** Creates the set of the statements that a connection has prepared. It closes those that leave the set. */
function createPreparedStatements(connection: pg.Connection): LRUCache<string, true> {
  const { parsedStatements } = connection as pg.Connection & { readonly parsedStatements: Record<string, string> }
  return new LRUCache({
    max: maxPrepared,
    // Sent with the statement that follows, so it costs no round trip.
    dispose(_value, name) {
      delete parsedStatements[name]
      connection.close({ type: 'S', name }, true)
    },
  })
}

/**
 * Creates the class of the connections of a pool. It differs from its base in five ways.
 *
 * - It keeps at most 200 prepared statements, those that were used last. Clients choose the fields and conditions of
 *   statements, so there is no bound on their number otherwise.
 * - A statement whose plan the server has dropped, because the type of a column has changed, is prepared again and sent
 *   once more. Within a transaction it fails, because the transaction has failed.
 * - It ends itself when a statement gets no response in time. The statement may still be running, and the next user of
 *   the connection would wait for it, or find its transaction open.
 * - When a write finds that the server is a standby, all connections of the class end once they have no statement.
 *   After a failover the address leads to another server, and connections to the former primary would stay as long as
 *   they can read.
 * - An `error` event without a listener does not end the process. The pool stops listening before the new user starts
 *   to listen, and the server can close the connection in between. The next statement reports the error.
 *
 * @param connectMilliseconds how long opening a connection may take
 */
export function createConnectionClass(connectMilliseconds: number): ConnectionClass {
  /** Ends each open connection as soon as it has no statement. */
  const retireOpen = new Set<() => void>()
  return class Connection extends Client {
    constructor(config?: string | pg.ClientConfig) {
      const settings = config as pg.ClientConfig
      // The pool hides the password from everything that copies its settings.
      super({ ...settings, password: settings.password, connectionTimeoutMillis: connectMilliseconds })
      this.on('error', () => undefined)
      const prepared = createPreparedStatements(this.connection)
      let pending = 0
      let isRetired = false
      const retire = () => {
        isRetired = true
        if (pending > 0) return
        // The pool removes an idle connection that reports an error, and one in use that has ended when it is released.
        this.emit('error', new Error('Connection terminated: the server is a standby'))
        this.end().catch(() => undefined)
      }
      this.once('connect', () => retireOpen.add(retire))
      this.once('end', () => retireOpen.delete(retire))
      const query = this.query.bind(this) as (...args: unknown[]) => unknown
      const fail = (error: Error) => {
        if (error.message === 'Query read timeout') this.end().catch(() => undefined)
        if (isReadOnly(error)) this.refuseServer(error)
      }
      const end = (error?: Error) => {
        pending -= 1
        if (error) fail(error)
        if (isRetired) retire()
      }
      this.query = ((...args: unknown[]) => {
        const { name } = Object(args[0]) as pg.QueryConfig
        const send = (...sent: unknown[]) => {
          if (name !== undefined) prepared.set(name, true)
          return query(...sent)
        }
        pending += 1
        const callback = args.at(-1)
        if (typeof callback !== 'function') {
          const result = send(...args) as Promise<unknown>
          result.then(() => end(), end)
          return result
        }
        const settle = (error: Error | undefined, result: unknown) => {
          // First, because retiring this connection reports another error to its user.
          callback(error, result)
          end(error)
        }
        const statement = args.slice(0, -1)
        if (name === undefined) return send(...statement, settle)
        const settleOrPrepare: typeof settle = (error, result) => {
          if (!error || !isStalePlan(error)) return settle(error, result)
          prepared.delete(name)
          // The status is that before the statement.
          if (this.getTransactionStatus() === 'I') send(...statement, settle)
          else settle(error, result)
        }
        return send(...statement, settleOrPrepare)
      }) as pg.Client['query']
    }

    refuseServer(_error: Error): void {
      for (const retireOne of retireOpen) retireOne()
    }
  }
}

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

    const { stream } = client.connection
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
