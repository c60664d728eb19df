import type { Sql } from '@fusion-gateway/sql'
import type { Context } from '../types.ts'

/**
 * Writes for a request: in a transaction, or by work that writes with one statement. See `Sql.transact`.
 *
 * @param write receives the context of the transaction
 */
export async function writeIn<Result>(
  context: Context,
  { transaction }: { readonly transaction: boolean },
  write: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { sql, loaders, within } = context
  const run = (sqlOfWrite: Sql) => write(sqlOfWrite === sql ? context : { ...context, ...within(sqlOfWrite) })
  try {
    return await (transaction ? sql.transact(run) : sql.attempt(run))
  } finally {
    // Later reads of the request must see the writes.
    loaders.clearAll()
  }
}
