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
export async function writeUsage(
  { sql, transact }: Pick<Database, 'sql' | 'transact'>,
  counts: readonly TenantCount[],
): Promise<void> {
  const rows = counts.flatMap(({ tenantAppId, operations }) =>
    [...operations.values()].map((count): Row => ({ tenantAppId, id: idOf(count), count })),
  )
  const tenants = [...new Set(rows.map(({ tenantAppId }) => tenantAppId))]
  const known = await query(sql, readOperations, [tenants, rows.map(({ id }) => id)])
  const fields = counts.flatMap(({ tenantAppId, fields }) =>
    [...fields].map(([field, requests]) => ({ tenant_app_id: tenantAppId, field, requests })),
  )
  const operations = withoutExcess(rows, known as unknown as KnownOperations[]).map(toJson)
  // A count that cannot be written is put back, so neither table may have it.
  await transact(async () => {
    await execute(sql, addOperations, [JSON.stringify(operations)])
    await execute(sql, addFields, [JSON.stringify(fields)])
  })
}

function idOf(names: CountNames): string {
  return hash('sha256', keyOf(names)).slice(0, 24)
}

/** A tenant, how many operations it has on the current day, and which of those that are written now. */
type KnownOperations = readonly [tenantAppId: string, count: bigint | number, ids: readonly string[] | null]

/** The rows, without those that are beyond the bound: these are added to the others of their key. */
function withoutExcess(rows: readonly Row[], known: readonly KnownOperations[]): Row[] {
  const places = new Map(known.map(([id, count]) => [id, maxOperations.ofTenant - Number(count)]))
  const existing = new Set(known.flatMap(([tenantAppId, , ids]) => (ids ?? []).map((id) => `${tenantAppId} ${id}`)))
  const sums = new Map<string, Row>()
  for (const { tenantAppId, id, count } of rows) {
    const isNew = !existing.has(`${tenantAppId} ${id}`)
    const left = places.get(tenantAppId) ?? maxOperations.ofTenant
    if (isNew) places.set(tenantAppId, left - 1)
    const names = isNew && left <= 0 ? othersOf(count.keyId) : count
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

/** How many operations tenants have on the current day, and which of some ids. Parameters: tenants, ids. */
const readOperations = statement(`
  SELECT tenant_app_id, count(*), array_agg(substr(id, ${'use_20261231'.length + 1})) FILTER (WHERE id = ANY (ARRAY(SELECT ${prefix} || unnest($2::text[]))))
  FROM operation_usage WHERE tenant_app_id = ANY ($1::text[]) AND id >= ${prefix} GROUP BY tenant_app_id`)

// Gateways write the rows in the same order, so none waits for another in a circle. A tenant may have been deleted
// meanwhile.
const addOperations = statement(`
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
    last_used_at = greatest(u.last_used_at, excluded.last_used_at)`)
const addFields = statement(`
  INSERT INTO field_usage AS u (tenant_app_id, id, day, field, requests, last_used_at)
  SELECT tenant_app_id, ${prefix} || field, ${today}, field, requests, now()
  FROM json_to_recordset($1::json) AS given (tenant_app_id text, field text, requests bigint)
  JOIN tenant_app ON tenant_app.id = tenant_app_id ORDER BY 1, 2
  ON CONFLICT (tenant_app_id, id) DO UPDATE SET
    requests = u.requests + excluded.requests, last_used_at = greatest(u.last_used_at, excluded.last_used_at)`)
