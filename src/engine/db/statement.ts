import { hash } from 'node:crypto'
import type { SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'

/** A statement. If it is sent often, each connection prepares it once, and PostgreSQL keeps its plan. */
export interface Statement {
  readonly text: string
  /** The name of the prepared statement. It is a hash of the text, so equal texts have equal names. */
  readonly name?: string
  /** Whether PostgreSQL plans it for the values of its parameters, at each execution (postgres/pool-adapters.ts). */
  readonly isPlannedForValues?: boolean
}

/** The value of a parameter as text, or a list of values. */
export type Parameter = string | null | readonly (string | null)[]

interface NamedQuery extends SqlQuery {
  readonly statementName?: string
  readonly isPlannedForValues?: boolean
}

const shortReadPrefix = 'short_'
const otherPrefix = 'other_'

/**
 * Names a statement.
 *
 * @param options.isShortRead whether it only reads, by an index, and few rows. Short reads share connections
 *   (postgres/pipelining-pool.ts)
 */
export function statement(text: string, { isShortRead = false } = {}): Statement {
  return { text, name: (isShortRead ? shortReadPrefix : otherPrefix) + hash('sha256', text, 'base64url') }
}

/**
 * Sends a statement.
 *
 * @returns its rows, each a list of values in the order of the columns
 */
export async function query(
  sql: SqlQueryable,
  sent: Statement,
  parameters: readonly Parameter[] = [],
): Promise<unknown[][]> {
  return (await sql.queryRaw(toQuery(sent, parameters))).rows
}

/**
 * Sends a statement whose rows are not needed.
 *
 * @returns the number of rows that it inserted, updated or deleted
 */
export function execute(sql: SqlQueryable, sent: Statement, parameters: readonly Parameter[] = []): Promise<number> {
  return sql.executeRaw(toQuery(sent, parameters))
}

function toQuery({ text, name, isPlannedForValues }: Statement, parameters: readonly Parameter[]): NamedQuery {
  return {
    sql: text,
    args: [...parameters],
    argTypes: parameters.map((value) => ({ scalarType: 'string', arity: Array.isArray(value) ? 'list' : 'scalar' })),
    ...(name !== undefined && { statementName: name }),
    ...(isPlannedForValues && { isPlannedForValues }),
  }
}

/**
 * The name that a query is prepared under; undefined for those that are too many to prepare, such as the queries of
 * Prisma Client.
 */
export function statementNameOf(query: SqlQuery): string | undefined {
  return (query as NamedQuery).statementName
}

/** Whether PostgreSQL plans the query for the values of its parameters. */
export function isPlannedForValues(query: SqlQuery): boolean {
  return (query as NamedQuery).isPlannedForValues ?? false
}

/** Whether the prepared statement of this name is a short read. */
export function isShortRead(name: string | undefined): boolean {
  return name?.startsWith(shortReadPrefix) ?? false
}
