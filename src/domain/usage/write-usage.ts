import { hash } from 'node:crypto'
import type { Database } from '../../engine/db/database.ts'
import { execute, query, statement } from '../../engine/db/statement.ts'
import {
  addTo,
  type CountNames,
  keyOf,
  newCount,
  type OperationCount,
  othersOf,
} from '../../engine/telemetry/usage/operation-count.ts'
import { maxOperations, type TenantCount } from '../../engine/telemetry/usage/usage-counts.ts'

/** A row of the table of operations, as far as the gateway knows it: the database adds the day. */
interface Row {
  readonly tenantAppId: string
  readonly id: string
  readonly count: OperationCount
}

/**
 * Adds counts to those of the current day. A tenant has at most 1,000 operations a day, and further ones count as
 * others: clients choose the names, and could fill the disk.
 */
export async function writeUsage({ sql }: Pick<Database, 'sql'>, counts: readonly TenantCount[]): Promise<void> {
  const rows = counts.flatMap(({ tenantAppId, operations }) =>
    [...operations.values()].map((count): Row => ({ tenantAppId, id: idOf(count), count })),
  )
  const excess = await query(sql, findExcess, [rows.map(({ tenantAppId }) => tenantAppId), rows.map(({ id }) => id)])
  const fields = counts.flatMap(({ tenantAppId, fields }) =>
    [...fields].map(([field, requests]) => ({ tenant_app_id: tenantAppId, field, requests })),
  )
  const operations = withoutExcess(rows, new Set(excess.map(([id]) => String(id)))).map(toJson)
  await execute(sql, add, [JSON.stringify(operations), JSON.stringify(fields)])
}

function idOf(names: CountNames): string {
  return hash('sha256', keyOf(names)).slice(0, 24)
}

/** The rows, without those that are beyond the bound: these are added to the others of their key. */
function withoutExcess(rows: readonly Row[], excess: ReadonlySet<string>): Row[] {
  const sums = new Map<string, Row>()
  for (const { tenantAppId, id, count } of rows) {
    const names = excess.has(`${tenantAppId} ${id}`) ? othersOf(count.keyId) : count
    const key = `${tenantAppId} ${idOf(names)}`
    // A copy, because a count that cannot be written is put back.
    const row = sums.get(key) ?? { tenantAppId, id: idOf(names), count: newCount(names, new Set()) }
    addTo(row.count, count)
    sums.set(key, row)
  }
  return [...sums.values()]
}

function toJson({ tenantAppId, id, count }: Row) {
  const { keyId, clientName, clientVersion, operationName, operationHash, fields, ...numbers } = count
  return {
    tenant_app_id: tenantAppId,
    id,
    key_id: keyId,
    client_name: clientName,
    client_version: clientVersion,
    operation_name: operationName,
    operation_hash: operationHash,
    fields: [...fields].sort(),
    ...numbers,
  }
}

const today = "(now() AT TIME ZONE 'UTC')::date"
const prefix = `'use_' || to_char(${today}, 'YYYYMMDD')`

/** The new rows of tenants that have too many on the current day. */
const findExcess = statement(`
  SELECT new.tenant_app_id || ' ' || new.id FROM (
    SELECT given.tenant_app_id, given.id, row_number() OVER (PARTITION BY given.tenant_app_id ORDER BY place) AS number
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (tenant_app_id, id, place)
    WHERE NOT EXISTS (SELECT FROM operation_usage AS u WHERE u.tenant_app_id = given.tenant_app_id AND u.id = ${prefix} || given.id)
  ) AS new LEFT JOIN (
    SELECT tenant_app_id, count(*) AS count FROM operation_usage WHERE tenant_app_id = ANY ($1::text[]) AND id >= ${prefix} GROUP BY 1
  ) AS known ON known.tenant_app_id = new.tenant_app_id
  WHERE new.number + coalesce(known.count, 0) > ${maxOperations.ofTenant}`)

// Gateways write the rows in the same order, so none waits for another in a circle. A tenant may have been deleted
// meanwhile.
const add = statement(`
  WITH operations AS (
    INSERT INTO operation_usage AS u (tenant_app_id, id, day, key_id, client_name, client_version, operation_name, operation_hash,
      requests, errors, points, durations, fields, last_used_at)
    SELECT tenant_app_id, ${prefix} || given.id, ${today}, key_id, client_name, client_version, operation_name, operation_hash,
      requests, errors, points, durations, fields, now()
    FROM json_to_recordset($1::json) AS given (tenant_app_id text, id text, key_id text, client_name text, client_version text,
      operation_name text, operation_hash text, requests bigint, errors bigint, points bigint, durations bigint[], fields text[])
    JOIN tenant_app ON tenant_app.id = tenant_app_id ORDER BY 1, 2
    ON CONFLICT (tenant_app_id, id) DO UPDATE SET
      requests = u.requests + excluded.requests, errors = u.errors + excluded.errors, points = u.points + excluded.points,
      durations = ARRAY(SELECT one + other FROM unnest(u.durations, excluded.durations) WITH ORDINALITY AS d (one, other, n) ORDER BY n),
      fields = CASE WHEN u.fields @> excluded.fields THEN u.fields ELSE ARRAY(SELECT DISTINCT unnest(u.fields || excluded.fields)) END,
      last_used_at = greatest(u.last_used_at, excluded.last_used_at)
  )
  INSERT INTO field_usage AS u (tenant_app_id, id, day, field, requests, last_used_at)
  SELECT tenant_app_id, ${prefix} || field, ${today}, field, requests, now()
  FROM json_to_recordset($2::json) AS given (tenant_app_id text, field text, requests bigint)
  JOIN tenant_app ON tenant_app.id = tenant_app_id ORDER BY 1, 2
  ON CONFLICT (tenant_app_id, id) DO UPDATE SET
    requests = u.requests + excluded.requests, last_used_at = greatest(u.last_used_at, excluded.last_used_at)`)
