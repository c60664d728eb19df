import type { Database } from '../../engine/db/database.ts'
import { statement } from '../../engine/db/statement.ts'

/**
 * The horizon of the event log on the server that has the rows of a tenant, as items of FROM: `horizon.complete` and
 * `horizon.begun`. A function alone runs on the server that receives the statement; the search for an event that no
 * tenant has makes Citus run both where the tenant's events are. It takes one step in an index.
 *
 * @param tenant the parameter with the tenant
 */
export function horizonOf(tenant: string): string {
  return `(SELECT count(*) FROM event WHERE tenant_app_id = ${tenant} AND id = '') AS routed
    CROSS JOIN LATERAL event_horizon() AS horizon`
}

const readComplete = statement(`SELECT horizon.complete FROM ${horizonOf('$1')}`)

/** Reads the prefix of ids up to which the log of a tenant can be read: the events with smaller ids are visible. */
export async function completeOf({ sql }: Pick<Database, 'sql'>, tenantAppId: string): Promise<string> {
  const [[complete] = []] = await sql.query(readComplete, [tenantAppId])
  return String(complete ?? '')
}
