import { OperatorError } from '@fusion-gateway/base'
import type { Database, TenantApp } from '@fusion-gateway/database'
import { write } from '@fusion-gateway/sql'
import { releaseJobs } from '../job/store/job-store.ts'

const suspend = write('UPDATE tenant_app SET suspended_at = now() WHERE id = $1 AND suspended_at IS NULL')

const resume = write(
  'UPDATE tenant_app SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL AND deleting_since IS NULL',
)

// Five days of failures disable a webhook, and nothing was sent meanwhile. Citus refuses to add to a time with a zone.
// Parameters: tenant, the time of suspension.
const skipSuspension = write(`
  UPDATE webhook SET failing_since =
    (failing_since AT TIME ZONE 'UTC' + (node_now(webhook.tenant_app_id) - $2::timestamptz)) AT TIME ZONE 'UTC'
  WHERE tenant_app_id = $1 AND failing_since IS NOT NULL`)

/**
 * Suspends a tenant. Its keys and tokens are refused when gateways read them next, no job or delivery of it starts, and
 * its running jobs wait again. Gateways and workers take some seconds to notice it, and can start jobs until then:
 * suspending it again lets these wait too.
 */
export async function suspendTenant({ sql }: Pick<Database, 'sql'>, { id }: Pick<TenantApp, 'id'>): Promise<void> {
  await sql.execute(suspend, [id])
  await releaseJobs(sql, id)
}

/**
 * Lets a suspended tenant go on where it stopped. A tenant that is not suspended stays as it is.
 *
 * @throws OperatorError if its deletion has begun meanwhile
 */
export async function resumeTenant(
  { sql }: Pick<Database, 'sql'>,
  { id, suspendedAt }: Pick<TenantApp, 'id' | 'suspendedAt'>,
): Promise<void> {
  if (!suspendedAt) return
  await sql.transact(async (transaction) => {
    if ((await transaction.execute(resume, [id])) === 0) {
      throw new OperatorError(
        'Another command has resumed the tenant, or deletes it. See: npm run fusion -- tenants list',
      )
    }
    await transaction.execute(skipSuspension, [id, suspendedAt.toISOString()])
  })
}
