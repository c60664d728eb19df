import pg from 'pg'

/**
 * Makes the kind of connection that a pool holds. A connection on which an answer was waited for in vain is ended: the
 * statement may still be running there, and within a transaction the ROLLBACK would wait behind it, and the next who gets
 * the connection would find the transaction open.
 *
 * And its end is never an event without a listener, which would end the process: between the pool, which listens until it
 * gives a connection away, and whoever gets it, a server can have let it in and ended it in one breath. The next statement
 * there says so.
 *
 * @param connectMilliseconds how long the server may take to let a new connection in
 */
export function createConnectionClass(connectMilliseconds: number): typeof pg.Client {
  return class Connection extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super({ ...(config as pg.ClientConfig), connectionTimeoutMillis: connectMilliseconds })
      this.on('error', () => undefined)
      const query = this.query.bind(this) as (...args: unknown[]) => unknown
      const hangUp = (error: Error) => {
        if (error.message === 'Query read timeout') this.end().catch(() => undefined)
      }
      this.query = ((...args: unknown[]) => {
        const result = query(...args)
        // The pool, which gives a callback, ends a connection itself when a statement of its own fails.
        if (result instanceof Promise) result.catch(hangUp)
        return result
      }) as pg.Client['query']
    }
  }
}
