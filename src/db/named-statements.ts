import type { SqlQuery } from '@prisma/driver-adapter-utils'

const names = new Map<string, string>()
const short = new Set<string>()

/** How many are kept at most: each costs memory on every connection. */
const maxNames = 200

/**
 * Notes that a statement comes again and again with the same text: PostgreSQL then parses it once a connection and keeps
 * its plan. Only for the few that are written by hand; those that Prisma makes have too many texts to be kept.
 *
 * @param options.isShort that it only reads, a few rows by an index, so that others may wait for it
 * @returns the text itself
 */
export function repeated(sql: string, { isShort = false } = {}): string {
  if (!names.has(sql) && names.size < maxNames) {
    names.set(sql, `fusion_${names.size}`)
    if (isShort) short.add(sql)
  }
  return sql
}

/** The name that a statement is prepared under; undefined for one that is not noted. */
export function statementName({ sql }: Pick<SqlQuery, 'sql'>): string | undefined {
  return names.get(sql)
}

/** Whether a statement is noted as a short read. */
export function isShortRead(sql: string): boolean {
  return short.has(sql)
}
