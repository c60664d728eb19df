import type { SqlQuery } from '@prisma/driver-adapter-utils'

const names = new Map<string, string>()

/** How many are kept at most: each costs memory on every connection. */
const maxNames = 200

/**
 * Notes that a statement comes again and again with the same text: PostgreSQL then parses it once a connection and keeps
 * its plan. Only for the few that are written by hand; those that Prisma makes have too many texts to be kept.
 *
 * @returns the text itself
 */
export function repeated(sql: string): string {
  if (!names.has(sql) && names.size < maxNames) names.set(sql, `fusion_${names.size}`)
  return sql
}

/** The name that a statement is prepared under; undefined for one that is not noted. */
export function statementName({ sql }: Pick<SqlQuery, 'sql'>): string | undefined {
  return names.get(sql)
}
