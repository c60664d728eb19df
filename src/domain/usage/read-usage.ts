import type { Database } from '@fusion-gateway/database'
import type { Payer } from '@fusion-gateway/limits'
import type { IdWindow } from '@fusion-gateway/prisma-trees'
import { type Parameter, statement } from '@fusion-gateway/sql'

/** Which usage to read. All conditions must hold. */
export interface UsageSelection {
  readonly tenantAppId?: string | undefined
  /** Days in UTC, both inclusive: `2027-01-31`. By default the 30 days that end today. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Only operations that select this field: `User.email`. */
  readonly field?: string | undefined
  readonly operationName?: string | undefined
}

export interface UsagePage extends IdWindow, Pick<UsageSelection, 'from' | 'to'> {
  readonly tenantAppId: string
}

export interface OperationUsage {
  readonly tenant: string
  readonly keyId: string
  readonly keyName: string | null
  readonly clientName: string | null
  readonly clientVersion: string | null
  readonly operationName: string | null
  readonly operationHash: string | null
  readonly requests: number
  readonly errors: number
  readonly points: number
  readonly durations: readonly number[]
  readonly lastUsedAt: Date
}

export interface DailyUsage extends OperationUsage {
  readonly id: string
  readonly day: string
  readonly fields: readonly string[]
}

export interface FieldUsage {
  readonly field: string
  readonly requests: number
  readonly lastUsedAt: Date | null
}

/** Whether a row of usage can have this id. Ids sort by day. */
export function isUsageId(id: string): boolean {
  return /^use_\d{8}[0-9a-f]{24}$/.test(id)
}

export type UsageReader = ReturnType<typeof createUsageReader>

/** Runs the reads of a request, fairly. */
export type ReadUsage = <Result>(
  request: { readonly viewer: Payer; readonly sql: Database['sql'] },
  read: (usage: UsageReader) => Promise<Result>,
) => Promise<Result>

export function createUsageReader({ sql }: Pick<Database, 'sql'>) {
  /** Sends a statement with conditions on the rows `u`: the range of days, and those whose value is given. */
  async function read<Row>(
    text: (where: string) => string,
    { from, to, tenantAppId }: UsageSelection,
    values: Readonly<Record<string, Parameter | undefined>> = {},
  ): Promise<Row[]> {
    const given = Object.entries({ 'u.tenant_app_id = $': tenantAppId, ...values }).filter(
      ([, value]) => value !== undefined,
    )
    const conditions = given.map(([condition], index) => condition.replace('$', `$${index + 3}`))
    const parameters = [from ?? null, to ?? null, ...given.map(([, value]) => value as Parameter)]
    const rows = await sql.query(statement(text([...inRange, ...conditions].join(' AND '))), parameters)
    return rows.map(([json]) => {
      const row = JSON.parse(String(json)) as { lastUsedAt: string }
      return { ...row, lastUsedAt: new Date(row.lastUsedAt) } as Row
    })
  }

  return {
    page({ after, before, notBefore, notAfter, fromEnd, limit, ...selection }: UsagePage): Promise<DailyUsage[]> {
      const text = (where: string) => readPage(where, fromEnd ? 'ASC' : 'DESC', limit)
      return read(text, selection, {
        'u.id < $': after,
        'u.id > $': before,
        'u.id <= $': notBefore,
        'u.id >= $': notAfter,
      })
    },

    /** Reads who has requested what, most requests first. */
    operations(selection: UsageSelection, limit = Number.MAX_SAFE_INTEGER): Promise<OperationUsage[]> {
      const { field, operationName } = selection
      const values = { 'u.fields @> ARRAY[$]': field, 'u.operation_name = $': operationName }
      return read((where) => readOperations(where, limit), selection, values)
    },

    /** Reads how many requests have selected each field, most requests first. */
    fields: (selection: UsageSelection): Promise<FieldUsage[]> => read(readFields, selection),

    /** The first day that is kept, of all tenants; undefined if nothing was counted. */
    async firstDay(): Promise<string | undefined> {
      const [[day] = []] = await sql.query(readFirstDay)
      return day === null ? undefined : String(day)
    },
  }
}

const lastDay = "coalesce($2::date, (now() AT TIME ZONE 'UTC')::date)"

// The ids of a tenant begin with the day, so its rows are read by the primary key.
const inRange = [
  `u.id >= 'use_' || to_char(coalesce($1::date, ${lastDay} - 29), 'YYYYMMDD')`,
  `u.id < 'use_' || to_char(${lastDay} + 1, 'YYYYMMDD')`,
]

const names = 'tenant_app_id, key_id, client_name, client_version, operation_name, operation_hash'

/** The columns of rows `u`, with the names of their tenant and key. */
const asJson = (...further: string[]) => `
  json_build_object('tenant', t.name, 'keyId', u.key_id, 'keyName', k.name, 'clientName', u.client_name, 'clientVersion', u.client_version,
    'operationName', u.operation_name, 'operationHash', u.operation_hash, 'requests', u.requests, 'errors', u.errors, 'points', u.points,
    'durations', u.durations, 'lastUsedAt', u.last_used_at${further.map((pair) => `, ${pair}`).join('')})::text`
const withNames = `
  JOIN tenant_app AS t ON t.id = u.tenant_app_id LEFT JOIN api_key AS k ON k.tenant_app_id = u.tenant_app_id AND k.id = u.key_id`

const readPage = (where: string, direction: 'ASC' | 'DESC', limit: number) => `
  SELECT ${asJson("'id', u.id", "'day', u.day", "'fields', u.fields")}
  FROM operation_usage AS u ${withNames} WHERE ${where} ORDER BY u.id ${direction} LIMIT ${limit}`

// Each row has every bucket once, so the sums of its other counts are the same in every bucket.
const readOperations = (where: string, limit: number) => `
  WITH bucket AS (
    SELECT ${names}, number, sum(count) AS count, sum(errors) AS errors, sum(points) AS points, max(last_used_at) AS last_used_at
    FROM operation_usage AS u, unnest(u.durations) WITH ORDINALITY AS d (count, number)
    WHERE ${where} GROUP BY ${names}, number
  ), operation AS (
    SELECT ${names}, sum(count) AS requests, max(errors) AS errors, max(points) AS points, array_agg(count ORDER BY number) AS durations,
      max(last_used_at) AS last_used_at
    FROM bucket GROUP BY ${names}
  )
  SELECT ${asJson()} FROM operation AS u ${withNames}
  ORDER BY u.requests DESC, t.name, u.operation_name, u.client_name, u.client_version, u.key_id LIMIT ${limit}`

const readFields = (where: string) => `
  SELECT json_build_object('field', field, 'requests', sum(requests), 'lastUsedAt', max(last_used_at))::text
  FROM field_usage AS u WHERE ${where} GROUP BY field ORDER BY sum(requests) DESC, field`

const readFirstDay = statement('SELECT min(day)::text FROM field_usage')
