import pg from 'pg'
import type { Server, StatementResult } from '../driver.ts'
import { isOfWrongSession, markAsOfWrongSession } from '../errors.ts'
import type { Parameter, Statement } from '../statement.ts'
import { formatTime } from '../times.ts'
import { type ConnectionClass, isReadOnly } from './pipelining-pool.ts'
import { schema, sessionSettings, setAll } from './session.ts'

interface TransactionPoolConfig extends pg.PoolConfig {
  readonly Client: ConnectionClass
}

/**
 * A pool for PgBouncer in transaction mode, which may give each transaction another session of the server, with what
 * other clients have left in it. So nothing is left in a session, and nothing is expected of it: statements are not
 * prepared, and each transaction has its own settings. A single statement gets its own transaction.
 */
export class TransactionPool extends pg.Pool {
  /** @param settings of each transaction, besides those of every session */
  constructor(config: TransactionPoolConfig, settings: Readonly<Record<string, string>>) {
    super({ ...config, pipeline: true, Client: createTransactionClient(config.Client, settings) })
    this.query = ((...args: unknown[]) => sendInAnySession(this, args)) as pg.Pool['query']
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

/** In how many sessions with a wrong setting a statement is tried. Each of them is right afterwards. */
const maxWrongSessions = 10

/** Sends a statement in a transaction of its own, and again if another client has left its session read-only. */
async function sendInAnySession(pool: pg.Pool, statement: readonly unknown[]): Promise<unknown> {
  try {
    return await sendInTransaction(pool, undefined, statement)
  } catch (error) {
    if (!isReadOnly(error as Error)) throw error
  }
  for (let tries = 1; ; tries += 1) {
    const client = await pool.connect()
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    let failure: Error | undefined
    try {
      await query('BEGIN')
      const result = await query(...statement)
      await query('COMMIT')
      return result
    } catch (error) {
      failure = error as Error
      await query('ROLLBACK').catch(() => undefined)
      if (tries >= maxWrongSessions || !isOfWrongSession(error)) throw error
    } finally {
      client.release(failure)
    }
  }
}

/** The setting that decides whether a transaction is read-only before any statement of the transaction can. */
const readOnlySetting = 'default_transaction_read_only'

/**
 * Creates the class of the connections. They remove the names of statements, and add the settings to BEGIN.
 *
 * Whether a transaction may write cannot be added: on a standby BEGIN would fail, and an operator may have made the
 * database read-only. So a session in which a write was refused gets the default back when its transaction has been
 * rolled back, with the same message, because the next one can reach another session. PostgreSQL reports the setting if
 * that changed it, and then the write can be sent again. Otherwise the server is a standby.
 */
function createTransactionClient(Client: ConnectionClass, settings: Readonly<Record<string, string>>): ConnectionClass {
  const ofAll = sessionSettings(settings)
  return class TransactionClient extends Client {
    /** Why a write of the transaction was refused. */
    private refusal: Error | undefined

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      const reported = new Map<string, string>()
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) => {
        reported.set(String(parameterName), String(parameterValue))
      })
      let begin: string | undefined
      const rollBack = (query: (text: string) => Promise<unknown>, refusal: Error) => {
        reported.delete(readOnlySetting)
        return query(`ROLLBACK; RESET ${readOnlySetting}`).then((result) => {
          if (reported.has(readOnlySetting)) markAsOfWrongSession(refusal)
          else super.refuseServer(refusal)
          return result
        })
      }
      const query = this.query.bind(this) as (...args: unknown[]) => unknown
      this.query = ((sent: unknown, ...rest: unknown[]) => {
        const { name: _, ...config } = (typeof sent === 'string' ? { text: sent } : sent) as pg.QueryConfig
        if (config.text === 'BEGIN') {
          this.refusal = undefined
          begin ??= beginWith({ ...ofAll, ...ofServer(reported) })
          return query(begin, ...rest)
        }
        const { refusal } = this
        this.refusal = undefined
        if (refusal && config.text === 'ROLLBACK') return rollBack(query as (text: string) => Promise<unknown>, refusal)
        return query(config, ...rest)
      }) as pg.Client['query']
    }

    override refuseServer(error: Error): void {
      this.refusal = error
    }
  }
}

/** One SET LOCAL for each setting takes less of the server than a SELECT of set_config for all of them. */
function beginWith(settings: Readonly<Record<string, string | null>>): string {
  // Without pg_temp, temporary tables would come first.
  const path = `SET LOCAL search_path = ${schema}, pg_temp`
  return ['BEGIN ISOLATION LEVEL READ COMMITTED', path, ...setAll('SET LOCAL', settings)].join('; ')
}

/** The settings that only some servers have, or some roles may change. */
function ofServer(reported: ReadonlyMap<string, string>): Record<string, string | null> {
  return {
    ...(Number.parseInt(reported.get('server_version') ?? '', 10) >= 17 && { transaction_timeout: null }),
    // Other roles cannot have left it otherwise. Without it, changes write no events.
    ...(reported.get('is_superuser') === 'on' && { session_replication_role: 'origin' }),
  }
}

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

export interface SentQuery extends pg.QueryArrayConfig {
  readonly isShortRead: boolean | undefined
}

function toQuery({ text, name, isShortRead }: Statement, parameters: readonly Parameter[]): SentQuery {
  return { text, name, values: parameters as unknown[], rowMode: 'array', types: valueTypes, isShortRead }
}

/**
 * The settings of the transaction of a statement that is planned for the values of its parameters. To fold and compare
 * the texts of a row costs what reading a hundred entries of an index costs by default. Without statistics, and with
 * that default, PostgreSQL would read all rows of a tenant by an index that does not have the texts.
 */
const planForValues = 'SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL cpu_index_tuple_cost = 0.5'

type Parser = (text: string) => unknown

const unchanged: Parser = (text) => text

/** The parsers of values that node-postgres would make objects of. */
const parsers = new Map<number, Parser>([
  [pg.types.builtins.DATE, unchanged],
  [pg.types.builtins.JSON, unchanged],
  [pg.types.builtins.JSONB, unchanged],
  [pg.types.builtins.TIMESTAMPTZ, formatTime],
])

/** The values of rows: numbers, booleans, texts and lists of them. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    parsers.get(type) ?? pg.types.getTypeParser(type, format as 'text'),
}
