import type { Database } from '../../engine/db/database.ts'
import { execute, statement } from '../../engine/db/statement.ts'

// A revocation follows the rows of creators and of successors, so they stay as long as the keys that they have created,
// and as their predecessors.
const removeEnded = statement(`
  DELETE FROM api_key WHERE (tenant_app_id, id) IN (
    SELECT tenant_app_id, id FROM api_key k WHERE least(revoked_at, expires_at) < now() - interval '30 days'
      AND NOT EXISTS (SELECT FROM api_key c WHERE c.tenant_app_id = k.tenant_app_id AND (c.creator_id = k.id OR c.successor_id = k.id))
    LIMIT 500 FOR UPDATE SKIP LOCKED)`)

/** Removes keys that were revoked or have expired more than 30 days ago, in batches. */
export async function removeEndedKeys({ sql }: Pick<Database, 'sql'>): Promise<void> {
  while ((await execute(sql, removeEnded)) > 0);
}
