import { hash } from 'node:crypto'

/** A statement. If it is sent often, each connection prepares it once, and PostgreSQL keeps its plan. */
export interface Statement {
  readonly text: string
  /** The name of the prepared statement. It is a hash of the text, so equal texts have equal names. */
  readonly name?: string
  /** Whether it only reads, by an index, and few rows. Short reads share connections (postgres/pipelining-pool.ts). */
  readonly isShortRead?: boolean
  /** Whether it reads one tenant, from quoted tables: those of a shard can take their place (citus/follow-nodes.ts). */
  readonly isTree?: boolean
  /** Whether PostgreSQL plans it for the values of its parameters, at each execution (postgres/pool.ts). */
  readonly isPlannedForValues?: boolean
  /** Whether it can wait for locks of rows or tables. It must not have all connections meanwhile. */
  readonly mayWait?: boolean
  /** Set if it is a single INSERT, UPDATE or DELETE: the event log stores who sent it. */
  readonly writes?: 'and returns rows' | 'and returns nothing'
}

/** The value of a parameter as text, or a list of values. */
export type Parameter = string | null | readonly (string | null)[]

export function statement(text: string, options: Pick<Statement, 'isShortRead' | 'mayWait'> = {}): Statement {
  return { ...options, text, name: hash('sha256', text, 'base64url') }
}

/**
 * A statement that writes rows: `INSERT`, `UPDATE` or `DELETE`, also after `WITH`.
 *
 * @param text without `RETURNING`
 * @param returning what it returns of each row
 */
export function write(text: string, returning?: string): Statement {
  return returning === undefined
    ? { ...statement(text, { mayWait: true }), writes: 'and returns nothing' }
    : { ...statement(`${text} RETURNING ${returning}`, { mayWait: true }), writes: 'and returns rows' }
}
