import type { Database } from '../../engine/db/database.ts'
import { sumOfBatches, sumOfTenants } from '../../engine/db/each-tenant.ts'
import { execute, statement } from '../../engine/db/statement.ts'

const batchSize = 500

const isOld = "day < (now() AT TIME ZONE 'UTC')::date - $1::integer"

const tables = ['operation_usage', 'field_usage'].map((table) => ({
  list: statement(`SELECT DISTINCT tenant_app_id FROM ${table} WHERE ${isOld}`),
  remove: statement(`
    DELETE FROM ${table} WHERE tenant_app_id = $2 AND id IN (
      SELECT id FROM ${table} WHERE tenant_app_id = $2 AND ${isOld} ORDER BY id LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`),
}))

/** Removes usage of days that ended more than `days` days ago, in batches. */
export async function removeOldUsage({ sql }: Pick<Database, 'sql'>, days: number): Promise<void> {
  for (const { list, remove } of tables) {
    await sumOfTenants(sql, { list, parameters: [String(days)] }, (tenantAppId) =>
      sumOfBatches(batchSize, () => execute(sql, remove, [String(days), tenantAppId])),
    )
  }
}
