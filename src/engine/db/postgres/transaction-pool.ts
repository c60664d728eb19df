import pg from 'pg'
import { sessionSettings } from './session.ts'

export interface TransactionPoolConfig extends pg.PoolConfig {
  /** The class of the connections. */
  readonly Client: typeof pg.Client
}

/**
 * A pool for PgBouncer in transaction mode, which may give each transaction another session of the server. So nothing
 * is left in a session: statements are not prepared, and each transaction has its own settings. A single statement gets
 * its own transaction.
 */
export class TransactionPool extends pg.Pool {
  /** @param settings of each transaction, besides those of every session */
  constructor(config: TransactionPoolConfig, settings: Readonly<Record<string, string>>) {
    super({ ...config, pipeline: true, Client: createTransactionClient(config.Client, settings) })
    this.query = ((...args: unknown[]) => sendInTransaction(this, undefined, args)) as pg.Pool['query']
  }
}

/**
 * Sends a statement in a transaction of its own.
 *
 * @param settings statements that are sent before it. They hold until the end of the transaction
 */
export async function sendInTransaction(
  pool: pg.Pool,
  settings: string | undefined,
  statement: readonly unknown[],
): Promise<unknown> {
  const client = await pool.connect()
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  // They are sent together, and their results arrive in order.
  const before = settings === undefined ? ['BEGIN'] : ['BEGIN', settings]
  const sent = [...before.map((text) => query(text)), query(...statement), query('COMMIT')]
  const outcomes = await Promise.allSettled(sent)
  const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
  client.release(failed?.reason)
  if (failed) throw failed.reason
  return (outcomes[before.length] as PromiseFulfilledResult<unknown>).value
}

/** Creates the class of the connections. They remove the names of statements, and add the settings to BEGIN. */
function createTransactionClient(
  Client: typeof pg.Client,
  settings: Readonly<Record<string, string>>,
): typeof pg.Client {
  const script = Object.entries(sessionSettings(settings)).map(([name, value]) => `SET LOCAL ${name} = '${value}'`)
  // The default for the next transaction comes too late for this one.
  const begin = ['BEGIN ISOLATION LEVEL READ COMMITTED', ...script].join('; ')
  return class TransactionClient extends Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      const query = this.query.bind(this) as (...args: unknown[]) => unknown
      this.query = ((sent: unknown, ...rest: unknown[]) => {
        const { name: _, ...config } = (typeof sent === 'string' ? { text: sent } : sent) as pg.QueryConfig
        return query(config.text === 'BEGIN' ? begin : config, ...rest)
      }) as pg.Client['query']
    }
  }
}
