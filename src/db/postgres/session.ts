import type pg from 'pg'

/**
 * Creates the function that sets up each new session. It sends SET statements, because PgBouncer rejects most settings as
 * connection parameters. The driver adapter reads and writes timestamps without their offset and dates in one format, so
 * TimeZone and DateStyle are fixed. A prepared statement is planned once: otherwise PostgreSQL plans many of them at each
 * execution, which takes longer than reading a small tree (docs/decisions/0010-one-statement-for-a-tree.md).
 */
export function setUpSession(settings: Readonly<Record<string, string>>): (client: pg.ClientBase) => Promise<unknown> {
  const all = {
    TimeZone: 'UTC',
    DateStyle: 'ISO, MDY',
    plan_cache_mode: 'force_generic_plan',
    ...settings,
  }
  const script = Object.entries(all).map(([name, value]) => `SET ${name} = '${value}'`)
  // The pool waits for the promise, although its types do not say so.
  return (client) => client.query(script.join('; '))
}
