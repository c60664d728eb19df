import { OperatorError } from '@fusion-gateway/base'
import type pg from 'pg'
import { Client } from './client.ts'
import type { ServerConfig } from './parse-url.ts'

/** The types of node-postgres leave out the process of the server. */
type Session = pg.ClientBase & { readonly processID: number | null }

/** PgBouncer's message for BEGIN in statement mode. */
const statementMode = /statement pooling/

/**
 * Returns a function that refuses a pooler which may give each transaction another session, such as PgBouncer in
 * transaction mode. Without DATABASE_DIRECT_URL, prepared statements and notifications would get lost there, and
 * settings would reach the sessions of other programs.
 *
 * A server names its process to a new connection, and a pooler cannot name the right one. So a server costs one
 * statement, with the first connection. A pooler costs a second connection: if both ever are in one session, or one of
 * them in two, sessions are shared.
 *
 * @param settings with which the second connection is opened
 * @param advice the end of the error: what the operator does about it
 */
export function refusePooler(settings: ServerConfig, advice: string): (session: pg.ClientBase) => Promise<void> {
  let checked: Promise<void> | undefined
  const check = async (session: Session) => {
    const first = await processOf(session)
    if (first === session.processID) return
    const second = new Client(settings)
    second.on('error', () => undefined)
    try {
      await second.connect()
      await second.query('BEGIN')
      const ofSecond = [await processOf(second)]
      const ofFirst = [first, await processOf(session)]
      await second.query('COMMIT')
      ofSecond.push(await processOf(second))
      const isShared = ofFirst.some((process) => ofSecond.includes(process))
      if (!isShared && new Set(ofFirst).size === 1 && new Set(ofSecond).size === 1) return
    } catch (error) {
      if (!statementMode.test((error as Error).message)) throw error
      throw new OperatorError(
        `${addressOf(settings)} is a pooler in statement mode, which has no transactions. Use session or transaction mode.`,
      )
    } finally {
      await second.end().catch(() => undefined)
    }
    throw new OperatorError(`${addressOf(settings)} is a pooler that shares sessions between transactions. ${advice}`)
  }
  return (session) => {
    checked ??= check(session as Session).catch((error: unknown) => {
      // Whether it is a pooler, the next connection finds out.
      if (!(error instanceof OperatorError)) checked = undefined
      throw error
    })
    return checked
  }
}

async function processOf(session: pg.ClientBase): Promise<number> {
  const { rows } = await session.query<{ process: number }>('SELECT pg_backend_pid() AS process')
  return rows[0]?.process as number
}

function addressOf({ host, port }: ServerConfig): string {
  return `${host}:${port ?? 5432}`
}

/**
 * The settings that every session needs. Timestamps are read and written without their offset and dates
 * in one format, so TimeZone and DateStyle are fixed. A backslash in a literal is a character. A prepared statement is
 * planned once: otherwise PostgreSQL plans many of them at each execution, which takes longer than reading a small tree
 * (docs/decisions/0010-one-statement-for-a-tree.md). Compiling the expressions of a filter with many conditions takes
 * seconds, which `statement_timeout` does not interrupt, and running them takes less. The rest would change results or
 * end long work if the role or the database set it otherwise: fewer digits round numbers, transactions that are not
 * READ COMMITTED fail when rows change, without `array_nulls` a null in a list is the text NULL, and
 * `gin_fuzzy_search_limit` hides rows of searches. Settings that an ordinary role cannot change are reasons not to be
 * ready (write-problems.ts).
 *
 * Another client of a pooler may have left a session with other settings. Those that the operator chooses are set to
 * null here: to the default that a new session has.
 */
export function sessionSettings(settings: Readonly<Record<string, string>>): Record<string, string | null> {
  return {
    // The first two, because both set the role.
    session_authorization: null,
    role: null,
    row_security: null,
    lock_timeout: null,
    synchronous_commit: null,
    client_encoding: 'UTF8',
    TimeZone: 'UTC',
    DateStyle: 'ISO, MDY',
    IntervalStyle: 'postgres',
    bytea_output: 'hex',
    array_nulls: 'on',
    transform_null_equals: 'off',
    gin_fuzzy_search_limit: '0',
    quote_all_identifiers: 'off',
    backslash_quote: 'safe_encoding',
    standard_conforming_strings: 'on',
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    extra_float_digits: '1',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
    ...settings,
  }
}

/** Settings of the transactions of a session, which come too late within a transaction. */
const settingsOfTransactions = {
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: null,
}

/** The statements that make settings; null is the default of a new session. */
export function setAll(how: 'SET' | 'SET LOCAL', settings: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(settings).map(
    ([name, value]) => `${how} ${name} ${value === null ? 'TO DEFAULT' : `= '${value}'`}`,
  )
}

/** The schema of all tables. Prisma Client names it in its statements. */
export const schema = 'public'

/**
 * Returns a function that sets up each new session. It sends SET statements, because PgBouncer rejects most settings
 * as connection parameters.
 *
 * The function rejects with an OperatorError if the database does not store UTF-8: it could not store every text of a
 * client. It does so as well if the session creates and finds tables in another schema than Prisma Client: rows would
 * be in two places.
 *
 * @param onDistributed called if Citus distributes the tables of tenants over several servers
 */
export function setUpSession(
  settings: Readonly<Record<string, string>>,
  onDistributed: () => void = () => undefined,
): (client: pg.ClientBase) => Promise<unknown> {
  const script = setAll('SET', { search_path: null, ...sessionSettings(settings), ...settingsOfTransactions })
  script.push(
    "SELECT current_setting('server_encoding') AS encoding, current_schema() AS schema, current_setting('search_path') AS path, to_regclass('pg_catalog.pg_dist_partition') AS citus",
  )
  // The pool waits for the promise, although its types do not say so.
  return async (client) => {
    // The types leave out that a script has several results.
    const results: unknown = await client.query(script.join('; '))
    const session: Record<string, string | null> = (results as pg.QueryResult[]).at(-1)?.rows[0] ?? {}
    const problem = problemOf(session)
    if (problem !== undefined) throw new OperatorError(problem)
    if (session['citus'] != null) await setUpCitus(client, onDistributed)
  }
}

/**
 * Citus chooses the server of a statement by the value of its parameter, so it needs a plan for each. A setting that a
 * transaction makes is sent to the servers that it writes to: the actor of events (packages/sql/src/sql.ts).
 */
async function setUpCitus(client: pg.ClientBase, onDistributed: () => void): Promise<void> {
  const { rows } = await client.query(
    `SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('${schema}.event')`,
  )
  if (rows.length === 0) return
  await client.query("SET plan_cache_mode = 'auto'; SET citus.propagate_set_commands = 'local'")
  onDistributed()
}

function problemOf({ encoding, schema: actual, path }: Record<string, string | null>): string | undefined {
  if (encoding !== 'UTF8') return `The database has the encoding ${encoding}. Create it with the encoding UTF8.`
  if (actual === schema) return undefined
  return (
    `The search_path of the role is ${path}, so its tables would be in ${actual === null ? 'no schema' : `the schema ${actual}`}. The gateway uses the schema ${schema}. ` +
    `Grant the role CREATE and USAGE on it, and add options=-c%20search_path%3D${schema} to the URL of the database, or set the search_path of the role.`
  )
}
