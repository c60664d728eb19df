import pg from 'pg'
import type { Server, StatementResult } from '../driver.ts'
import { formatTime } from '../read/columns.ts'
import type { Parameter, Statement } from '../statement.ts'
import { sessionSettings } from './session.ts'

interface TransactionPoolConfig extends pg.PoolConfig {
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
async function sendInTransaction(
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

/** Sends statements over the connections of a pool. */
export function serverOf(pool: pg.Pool): Server {
  return {
    send: async (statement, parameters) => resultOf(await sendOver(pool, statement, parameters)),

    async begin() {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
      } catch (error) {
        client.release(error as Error)
        throw error
      }
      return {
        send: async (statement, parameters) => resultOf(await client.query(toQuery(statement, parameters))),
        async end(how) {
          try {
            await client.query(how)
          } catch (error) {
            client.release(error as Error)
            throw error
          }
          client.release()
        },
      }
    },
  }
}

function sendOver(pool: pg.Pool, statement: Statement, parameters: readonly Parameter[]) {
  const sent = toQuery(statement, parameters)
  if (!statement.isPlannedForValues) return pool.query(sent)
  return sendInTransaction(pool, planForValues, [sent]) as Promise<pg.QueryArrayResult<unknown[]>>
}

const resultOf = ({ rows, rowCount }: pg.QueryArrayResult<unknown[]>): StatementResult => ({
  rows,
  count: rowCount ?? 0,
})

/** A statement for node-postgres. */
export interface SentQuery extends pg.QueryArrayConfig {
  readonly isShortRead: boolean | undefined
}

function toQuery({ text, name, isShortRead }: Statement, parameters: readonly Parameter[]): SentQuery {
  return { text, name, values: parameters as unknown[], rowMode: 'array', types, isShortRead }
}

/**
 * The settings of the transaction of a statement that is planned for the values of its parameters. To fold and compare
 * the texts of a row costs what reading a hundred entries of an index costs by default. Without statistics, and with
 * that default, PostgreSQL would read all rows of a tenant by an index that does not have the texts.
 */
const planForValues = 'SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL cpu_index_tuple_cost = 0.5'

type Parser = (text: string) => unknown

const unchanged: Parser = (text) => text

/**
 * The parsers of values that node-postgres would make objects of. The others are numbers, booleans, texts and lists of
 * them.
 */
const parsers = new Map<number, Parser>([
  [pg.types.builtins.DATE, unchanged],
  [pg.types.builtins.JSON, unchanged],
  [pg.types.builtins.JSONB, unchanged],
  [pg.types.builtins.TIMESTAMPTZ, formatTime],
])

const types = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    parsers.get(type) ?? pg.types.getTypeParser(type, format as 'text'),
}
