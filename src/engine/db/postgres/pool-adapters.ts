import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlQuery } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { requireShownYear } from '../read/columns.ts'
import { isPlannedForValues, statementNameOf } from '../statement.ts'
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

/**
 * Creates Prisma's driver adapters of a pool. They send the gateway's own statements, which have names, to the pool as
 * they are. For those Prisma's conversions of parameters, values and types take a twentieth of the CPU of a small
 * request, and have no use.
 */
export function createPoolAdapters(pool: pg.Pool): PrismaPg {
  return new PoolAdapters(pool)
}

class PoolAdapters extends PrismaPg {
  private readonly pool: pg.Pool

  constructor(pool: pg.Pool) {
    // In transactions, the adapter passes the name on. Undefined means no name; the adapter's type is narrower.
    super(pool, { statementNameGenerator: (query) => statementNameOf(query) as string })
    this.pool = pool
  }

  override async connect() {
    const adapter = await super.connect()
    const { pool } = this
    const queryRaw = adapter.queryRaw.bind(adapter)
    const executeRaw = adapter.executeRaw.bind(adapter)
    return Object.assign(adapter, {
      // Who sends a named statement knows its columns, so the result does not name them.
      queryRaw: async (query: SqlQuery) =>
        isNamed(query) || isPlannedForValues(query)
          ? { columnNames: [], columnTypes: [], rows: (await send(pool, query)).rows }
          : queryRaw(query),
      executeRaw: async (query: SqlQuery) =>
        isNamed(query) ? ((await send(pool, query)).rowCount ?? 0) : executeRaw(query),
    })
  }
}

const isNamed = (query: SqlQuery) => statementNameOf(query) !== undefined

function send(pool: pg.Pool, query: SqlQuery): Promise<pg.QueryArrayResult<unknown[]>> {
  const name = statementNameOf(query)
  const sent = { name, text: query.sql, values: query.args, rowMode: 'array', types } as const
  if (!isPlannedForValues(query)) return pool.query(sent)
  return sendInTransaction(pool, planForValues, [sent]) as Promise<pg.QueryArrayResult<unknown[]>>
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

/** `2026-01-31 08:00:00.5+00` ⇒ `2026-01-31T08:00:00.500Z`, as responses have it. Sessions have the time zone UTC. */
function formatTime(text: string): string {
  requireShownYear(text)
  const fraction = text.slice('2026-01-31 08:00:00.'.length, -'+00'.length)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0')}Z`
}
