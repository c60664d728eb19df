import type pg from 'pg'
import { OperatorError } from '../../errors.ts'

/**
 * The settings that every session needs. The driver adapter reads and writes timestamps without their offset and dates in one
 * format, so TimeZone and DateStyle are fixed. A backslash in a literal is a character. A prepared statement is planned once:
 * otherwise PostgreSQL plans many of them at each execution, which takes longer than reading a small tree
 * (docs/decisions/0010-one-statement-for-a-tree.md). Compiling the expressions of a filter with many conditions takes seconds, which
 * `statement_timeout` does not interrupt, and running them takes less.
 */
export function sessionSettings(settings: Readonly<Record<string, string>>): Record<string, string> {
  return {
    TimeZone: 'UTC',
    DateStyle: 'ISO, MDY',
    standard_conforming_strings: 'on',
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    ...settings,
  }
}

/**
 * Creates the function that sets up each new session. It sends SET statements, because PgBouncer rejects most settings as
 * connection parameters.
 *
 * The function rejects with an OperatorError if the database does not store UTF-8: it could not store every text of a client.
 */
export function setUpSession(settings: Readonly<Record<string, string>>): (client: pg.ClientBase) => Promise<unknown> {
  const script = Object.entries(sessionSettings(settings)).map(([name, value]) => `SET ${name} = '${value}'`)
  script.push('SHOW server_encoding')
  // The pool waits for the promise, although its types do not say so.
  return async (client) => {
    // The types leave out that a script has several results.
    const results: unknown = await client.query(script.join('; '))
    const { server_encoding: encoding } = (results as pg.QueryResult[]).at(-1)?.rows[0] ?? {}
    if (encoding === 'UTF8') return
    throw new OperatorError(`The database has the encoding ${encoding}. Create it with the encoding UTF8.`)
  }
}
