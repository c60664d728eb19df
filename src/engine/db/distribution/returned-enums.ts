import type { SqlQuery } from '@prisma/driver-adapter-utils'

/**
 * Removes the casts with which Prisma Client returns enums from a write: `RETURNING "account"."status"::text`. Citus
 * rejects them, because the names of an enum can be changed. The driver reads an enum as text without them.
 */
export function withoutReturnedCasts<Query extends SqlQuery>(query: Query): Query {
  const start = query.sql.lastIndexOf(' RETURNING ')
  if (start < 0 || !query.sql.includes('::text', start)) return query
  const returned = query.sql.slice(start).replaceAll('"::text', '"')
  return { ...query, sql: query.sql.slice(0, start) + returned }
}
