import { hash } from 'node:crypto'
import { repeat } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { statement, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import type { Logger } from '@fusion-gateway/telemetry'
import {
  addTo,
  type CountNames,
  keyOf,
  maxOperations,
  newCount,
  type OperationCount,
  othersOf,
  type TenantCount,
  type UsageCounts,
} from './usage-counts.ts'

const batchSize = 500

const isOld = "day < (now() AT TIME ZONE 'UTC')::date - $1::integer"

const tables = ['operation_usage', 'field_usage'].map((table) => ({
  list: statement(`SELECT DISTINCT tenant_app_id FROM ${table} WHERE ${isOld}`),
  remove: statement(`
    DELETE FROM ${table} WHERE tenant_app_id = $2 AND id IN (
      SELECT id FROM ${table} WHERE tenant_app_id = $2 AND ${isOld} ORDER BY id LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`),
}))

export async function removeOldUsage({ sql }: Pick<Database, 'sql'>, days: number): Promise<void> {
  for (const { list, remove } of tables) {
    await sumOfTenants(sql, await sql.list(list, [String(days)]), (tenantAppId, sql) =>
      sumOfBatches(batchSize, () => sql.execute(remove, [String(days), tenantAppId])),
    )
  }
}

/** A row of the table of operations, as far as the gateway knows it: the database adds the day. */
interface Row {
  readonly tenantAppId: string
  readonly id: string
  readonly count: OperationCount
}

/**
 * Adds counts of tenants that one server has to those of the current day. A tenant has at most 1,000 operations a day,
 * and further ones count as others: clients choose the names, and could fill the disk.
 */
export async function writeUsage(database: Pick<Database, 'sql'>, counts: readonly TenantCount[]): Promise<void> {
  const sql = database.sql.of(counts[0]?.tenantAppId ?? '')
  const rows = counts.flatMap(({ tenantAppId, operations }) =>
    [...operations.values()].map((count): Row => ({ tenantAppId, id: idOf(count.names), count })),
  )
  const tenants = [...new Set(rows.map(({ tenantAppId }) => tenantAppId))]
  const known = await sql.query(readOperations, [tenants, rows.map(({ id }) => id)])
  const fields = counts.flatMap(({ tenantAppId, fields }) =>
    [...fields].map(([field, requests]) => ({ tenant_app_id: tenantAppId, field, requests })),
  )
  const operations = withoutExcess(rows, known as unknown as KnownOperations[]).map(toJson)
  // A count that cannot be written is put back, so neither table may have it.
  await sql.transact(async (transaction) => {
    await transaction.execute(addOperations, [JSON.stringify(operations)])
    await transaction.execute(addFields, [JSON.stringify(fields)])
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
    const names = isNew && left <= 0 ? othersOf(count.names.keyId) : count.names
    const key = `${tenantAppId} ${idOf(names)}`
    // A copy, because a count that cannot be written is put back.
    const row = sums.get(key) ?? { tenantAppId, id: idOf(names), count: newCount(names, new Set()) }
    addTo(row.count, count)
    sums.set(key, row)
  }
  return [...sums.values()]
}

function toJson({ tenantAppId, id, count: { names, fields, ...numbers } }: Row) {
  return { tenantAppId, id, ...names, ...numbers, fields: [...fields].sort() }
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
  SELECT "tenantAppId", ${prefix} || given.id, ${today}, "keyId", "clientName", "clientVersion", "operationName", "operationHash",
    requests, errors, points, durations, fields, now()
  FROM json_to_recordset($1::json) AS given ("tenantAppId" text, id text, "keyId" text, "clientName" text, "clientVersion" text,
    "operationName" text, "operationHash" text, requests bigint, errors bigint, points bigint, durations bigint[], fields text[])
  JOIN tenant_app ON tenant_app.id = "tenantAppId" ORDER BY 1, 2
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

interface WriterOptions {
  readonly log: Logger
  readonly intervalMilliseconds?: number
}

/** Writes the usage of this process every minute. Returns the function that stops it, after a last write. */
export function startUsageWriter(
  { database, usageCounts }: { readonly database: Database; readonly usageCounts: UsageCounts },
  { log, intervalMilliseconds = 60_000 }: WriterOptions,
): () => Promise<void> {
  const stopping = new AbortController()

  async function writeOf(counts: readonly TenantCount[]): Promise<boolean> {
    try {
      await writeUsage(database, counts)
      return true
    } catch (error) {
      usageCounts.putBack(counts)
      log.warn({ err: error }, 'usage could not be written; it is tried again')
      return false
    }
  }

  async function write(): Promise<void> {
    for (let counts = usageCounts.take(); counts.length > 0; counts = usageCounts.take()) {
      const ofServers = Map.groupBy(counts, ({ tenantAppId }) => database.sql.nodeOf(tenantAppId))
      const written = await Promise.all([...ofServers.values()].map(writeOf))
      if (written.includes(false)) return
    }
  }

  const stopped = repeat(() => write().then(() => intervalMilliseconds), {
    signal: stopping.signal,
    onError: () => intervalMilliseconds,
  })
  return async () => {
    stopping.abort()
    await stopped
    await write()
  }
}
