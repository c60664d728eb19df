import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { query, statement } from '../statement.ts'

const hasCitus = statement(`SELECT FROM pg_extension WHERE extname = 'citus'`)

const findDistributed = statement(`
  SELECT logicalrelid::text FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
  WHERE relnamespace = 'public'::regnamespace ORDER BY 1 LIMIT 1`)

/**
 * Refuses a database whose tables Citus has distributed over several servers. Each of these servers would number the
 * events of its tenants, and followers would read the numbers of another one: they would miss events without an error.
 *
 * @throws OperatorError if a table is distributed
 */
export async function refuseDistributed({ sql }: { readonly sql: SqlQueryable }): Promise<void> {
  if ((await query(sql, hasCitus)).length === 0) return
  const [[table] = []] = await query(sql, findDistributed)
  if (table === undefined) return
  throw new OperatorError(
    `Citus has distributed the table ${table}. The gateway cannot read the event log of several servers yet, and would miss events without an error: see "Citus" in docs/scaling.md.`,
  )
}
