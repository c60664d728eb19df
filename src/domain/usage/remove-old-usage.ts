import type { Database } from '../../engine/db/database.ts'
import { execute, statement } from '../../engine/db/statement.ts'

const removeOld = ['operation_usage', 'field_usage'].map((table) =>
  statement(`
    DELETE FROM ${table} WHERE (tenant_app_id, id) IN (
      SELECT tenant_app_id, id FROM ${table} WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
      LIMIT 500 FOR UPDATE SKIP LOCKED)`),
)

/** Removes usage of days that ended more than `days` days ago, in batches. */
export async function removeOldUsage({ sql }: Pick<Database, 'sql'>, days: number): Promise<void> {
  for (const remove of removeOld) while ((await execute(sql, remove, [String(days)])) > 0);
}
