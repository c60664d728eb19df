import { LRUCache } from 'lru-cache'
import pg from 'pg'

/** How many prepared statements a connection keeps. Each costs memory on the server. */
const maxPrepared = 200

/** Parts of node-postgres that its types leave out. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  close(message: { readonly type: 'S'; readonly name: string }): void
}

/**
 * Creates the class of the connections of a pool. It differs from `pg.Client` in three ways.
 *
 * - It keeps at most 200 prepared statements and closes the least recently used one. Clients choose the fields and
 *   conditions of statements, so there is no bound on their number otherwise.
 * - It ends itself when a statement gets no answer in time. The statement may still be running, and the next user of the
 *   connection would wait for it, or find its transaction open.
 * - An `error` event without a listener does not end the process. The pool stops listening before the new owner starts, and
 *   the server can close the connection in between. The next statement reports the error.
 *
 * @param connectMilliseconds how long opening a connection may take
 */
export function createConnectionClass(connectMilliseconds: number): typeof pg.Client {
  return class Connection extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super({ ...(config as pg.ClientConfig), connectionTimeoutMillis: connectMilliseconds })
      this.on('error', () => undefined)
      const wire = (this as unknown as { readonly connection: Wire }).connection
      const prepared = new LRUCache<string, true>({
        max: maxPrepared,
        // Sent with the statement that follows, so it costs no round trip.
        dispose(_value, name, reason) {
          if (reason !== 'evict') return
          delete wire.parsedStatements[name]
          wire.close({ type: 'S', name })
        },
      })
      const query = this.query.bind(this) as (...args: unknown[]) => unknown
      this.query = ((...args: unknown[]) => {
        const { name } = Object(args[0]) as pg.QueryConfig
        if (name !== undefined) prepared.set(name, true)
        const result = query(...args)
        // The pool passes a callback; it ends a connection itself when one of its own statements fails.
        if (result instanceof Promise) result.catch((error: Error) => endAfterTimeout(this, error))
        return result
      }) as pg.Client['query']
    }
  }
}

function endAfterTimeout(connection: pg.Client, error: Error): void {
  if (error.message === 'Query read timeout') connection.end().catch(() => undefined)
}
