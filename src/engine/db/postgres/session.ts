import type pg from 'pg'
import { OperatorError } from '../../errors.ts'

/**
 * The settings that every session needs. The driver adapter reads and writes timestamps without their offset and dates
 * in one format, so TimeZone and DateStyle are fixed. A backslash in a literal is a character. A prepared statement is
 * planned once: otherwise PostgreSQL plans many of them at each execution, which takes longer than reading a small tree
 * (docs/decisions/0010-one-statement-for-a-tree.md). Compiling the expressions of a filter with many conditions takes
 * seconds, which `statement_timeout` does not interrupt, and running them takes less. The rest would change results or
 * end long work if the role or the database set it otherwise: fewer digits round numbers, transactions that are not
 * READ COMMITTED fail when rows change, without `array_nulls` a null in a list is the text NULL, and
 * `gin_fuzzy_search_limit` hides rows of searches. Settings that an ordinary role cannot change are reasons not to be
 * ready (write-problems.ts).
 */
export function sessionSettings(settings: Readonly<Record<string, string>>): Record<string, string> {
  return {
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
    default_transaction_isolation: 'read committed',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
    ...settings,
  }
}

/** The schema of all tables. Prisma Client names it in its statements. */
const schema = 'public'

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
  const script = Object.entries(sessionSettings(settings)).map(([name, value]) => `SET ${name} = '${value}'`)
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
 * transaction makes is sent to the servers that it writes to: the actor of events (src/engine/db/actor.ts).
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
