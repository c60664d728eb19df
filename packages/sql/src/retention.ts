import { sumOfBatches, sumOfTenants } from './each-tenant.ts'
import type { Sql } from './sql.ts'
import { statement } from './statement.ts'

/** About how many rows one statement removes. */
const batchSize = 500

/** Which rows are removed because of their age. */
export interface Retention {
  readonly table: string
  /** The column with the time from which a row is kept. It has an index. */
  readonly column: string
  /** How long a row is kept, in PostgreSQL's words: `24 hours`. */
  readonly age: string
}

/**
 * Removes the old rows of all tenants, the oldest first. Rows with one time are removed together. A deletion by time
 * alone can run on every server that has rows; a deletion of listed rows of several tenants could not. It needs all
 * servers, so a process that follows the nodes of a distributed database removes the rows of one tenant after the
 * other.
 *
 * @returns how many
 */
export async function removeOlder(sql: Sql, { table, column, age }: Retention): Promise<number> {
  const isOld = `${column} < now() - interval '${age}'`
  if (sql.nodes.length > 0) {
    const list = statement(`SELECT DISTINCT tenant_app_id FROM ${table} WHERE ${isOld}`)
    const removeOf = statement(`
      DELETE FROM ${table} WHERE tenant_app_id = $1 AND id IN (
        SELECT id FROM ${table} WHERE tenant_app_id = $1 AND ${isOld} ORDER BY ${column} LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`)
    return sumOfTenants(sql, await sql.list(list), (tenantAppId, sql) =>
      sumOfBatches(batchSize, () => sql.execute(removeOf, [tenantAppId])),
    )
  }
  const findBound = statement(
    `SELECT ${column} FROM ${table} WHERE ${isOld} ORDER BY ${column} OFFSET ${batchSize - 1} LIMIT 1`,
  )
  const remove = statement(`DELETE FROM ${table} WHERE ${isOld} AND ${column} <= $1::timestamptz`)
  let removed = 0
  for (let bound: unknown; bound !== 'infinity'; ) {
    ;[[bound = 'infinity'] = []] = await sql.query(findBound)
    removed += await sql.execute(remove, [String(bound)])
  }
  return removed
}
