import type { SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'
import { isShortRead, statementNameOf } from './statement.ts'

// The triggers of the event log store who changed a row. They read the setting `fusion.actor` of the transaction. A
// write sets it by its RETURNING clause, which PostgreSQL evaluates before it runs the triggers, so this needs no
// statement of its own. Citus rejects such a clause, and sends the settings of a transaction to the servers of its
// rows: there a transaction begins with the setting, and a write by itself is a transaction.

const write = /^\s*(?:WITH\b.*\)\s+)?(?:INSERT INTO|UPDATE|DELETE FROM)\s/is
const returning = /\bRETURNING\b/i

/** Whether a statement writes rows. */
export function isWrite({ sql }: SqlQuery): boolean {
  return write.test(sql)
}

const locking = /\b(INSERT|UPDATE|DELETE|SHARE)\b/

/** Whether a statement may wait for locks of rows or tables. Short reads, which most statements are, do not. */
export function mayWait(query: SqlQuery): boolean {
  return !isShortRead(statementNameOf(query)) && locking.test(query.sql)
}

/** The statement that lets the triggers know the actor of a transaction, on whichever server they run. */
export function setActor(actor: string): SqlQuery {
  return { sql: `SET LOCAL fusion.actor = '${actor.replaceAll("'", "''")}'`, args: [], argTypes: [] }
}

/** Returns the functions that let the triggers know the actor of writes. */
export function createActorQueries() {
  /** The text with the actor for each named statement; null if it is no write. There are only so many. */
  const known = new Map<string, string | null>()

  function textOf({ sql, args }: SqlQuery, name: string | undefined): string | null {
    const found = name === undefined ? undefined : known.get(name)
    if (found !== undefined) return found
    const set = `set_config('fusion.actor', $${args.length + 1}, true) IS NULL`
    const text = write.test(sql) ? `${sql} ${returning.test(sql) ? `, ${set}` : `RETURNING ${set}`}` : null
    if (name !== undefined) known.set(name, text)
    return text
  }

  /**
   * Adds the actor to a write: `UPDATE … RETURNING id` ⇒ `UPDATE … RETURNING id, set_config('fusion.actor', $3, true)
   * IS NULL`.
   */
  function withActor(actor: string, query: SqlQuery): SqlQuery {
    const name = statementNameOf(query)
    const sql = textOf(query, name)
    if (sql === null) return query
    return {
      sql,
      args: [...query.args, actor],
      argTypes: [...query.argTypes, { scalarType: 'string', arity: 'scalar' }],
      ...(name !== undefined && { statementName: `${name}_by` }),
    }
  }

  /** Sends a query with an actor, and returns its result without the column that this adds. */
  async function queryAs(
    actor: string,
    query: SqlQuery,
    send: (query: SqlQuery) => Promise<SqlResultSet>,
  ): Promise<SqlResultSet> {
    const sent = withActor(actor, query)
    if (sent === query) return send(query)
    const { columnNames, columnTypes, rows, ...result } = await send(sent)
    return {
      ...result,
      columnNames: columnNames.slice(0, -1),
      columnTypes: columnTypes.slice(0, -1),
      rows: rows.map((values) => values.slice(0, -1)),
    }
  }

  return { withActor, queryAs }
}
