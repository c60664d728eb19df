import type { Database } from '../../engine/db/database.ts'
import { execute, statement } from '../../engine/db/statement.ts'

const replaceEvents = statement(`
  WITH removed AS (DELETE FROM event WHERE tenant_app_id = $1)
  INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, status, status_before, created_at)
  SELECT $1, type, resource_id, user_id, account_id, status, status_before, at FROM (
    SELECT tenant_app_id, 'USER_CREATED' AS type, id AS resource_id, id AS user_id, NULL AS account_id,
      NULL AS status, NULL AS status_before, created_at AS at FROM "user"
    UNION ALL SELECT tenant_app_id, 'ACCOUNT_LINKED', id, user_id, id, NULL, NULL, created_at FROM account
    UNION ALL SELECT tenant_app_id, 'PROFILE_SYNCED', profile.id, user_id, account.id, NULL, NULL, synced_at
      FROM profile JOIN account USING (tenant_app_id) WHERE account.id = account_id
    UNION ALL SELECT tenant_app_id, 'JOB_CREATED', id, NULL, NULL, 'PENDING', NULL, created_at FROM job
    UNION ALL SELECT tenant_app_id, 'JOB_STARTED', id, NULL, NULL, 'RUNNING', 'PENDING', started_at FROM job
    UNION ALL SELECT tenant_app_id, 'JOB_' || status, id, NULL, NULL, status::text, 'RUNNING', finished_at FROM job
  ) AS happened WHERE tenant_app_id = $1 AND at IS NOT NULL ORDER BY at`)

/**
 * Writes the events of the demo tenant again, in the order and at the times of its rows. The triggers wrote them for
 * the moment in which the rows were inserted.
 */
export async function dateDemoEvents({ sql }: Database, tenantAppId: string): Promise<void> {
  await execute(sql, replaceEvents, [tenantAppId])
}
