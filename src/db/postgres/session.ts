import type pg from 'pg'

/**
 * Creates the function that sets up each new session. It sends SET statements, because PgBouncer rejects most settings as
 * connection parameters. The driver adapter reads and writes timestamps without their offset and dates in one format, so
 * TimeZone and DateStyle are fixed.
 */
export function setUpSession(settings: Readonly<Record<string, string>>): (client: pg.ClientBase) => Promise<unknown> {
  const all = { TimeZone: 'UTC', DateStyle: 'ISO, MDY', ...settings }
  const script = Object.entries(all).map(([name, value]) => `SET ${name} = '${value}'`)
  // The pool waits for the promise, although its types do not say so.
  return (client) => client.query(script.join('; '))
}
