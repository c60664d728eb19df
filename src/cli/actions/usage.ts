import { deprecatedFields, fieldNamed } from '@fusion-gateway/pothos-trees'
import { schemas } from '../../domain/schema.graphql.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import { createUsageReader, type UsageReader, type UsageSelection } from '../../domain/usage/read-usage.ts'
import { quantileOf } from '../../domain/usage/usage-counts.ts'
import type { Io } from '../io.ts'
import { printJson, printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface UsageOptions {
  readonly tenant?: string
  readonly field?: string
  readonly operation?: string
  readonly deprecated?: boolean
  readonly json?: boolean
}

/** Whether a name such as `User.email` is that of a field of the schema. */
export function isField(name: string): boolean {
  return fieldNamed(schemas.schema, name) !== undefined
}

export function listUsage(io: Io, options: UsageOptions): Promise<void> {
  const { tenant, field, operation: operationName, deprecated, json } = options
  return withMigratedDatabase(io, async (database) => {
    const usage = createUsageReader(database)
    const tenantAppId = tenant === undefined ? undefined : (await findTenant(database, tenant)).id
    const all: UsageSelection = { tenantAppId, from: '0001-01-01' }
    const rows = deprecated
      ? await readDeprecated(usage, all)
      : await readOperations(usage, { ...all, field, operationName })
    if (json) printJson(io.stdout, rows)
    else printTable(io.stdout, deprecated ? deprecatedHeader : header, rows.map(Object.values))
    if (field !== undefined) io.stderr.write(`${await summarize(usage, all, field)}\n`)
  })
}

const header = [
  'TENANT',
  'OPERATION',
  'HASH',
  'CLIENT',
  'VERSION',
  'KEY',
  'REQUESTS',
  'ERRORS',
  'POINTS',
  'P50',
  'P95',
  'LAST USE',
]

async function readOperations(usage: UsageReader, selection: UsageSelection) {
  const rows = await usage.operations(selection)
  return rows.map(
    ({ tenant, operationName, operationHash, clientName, clientVersion, keyId, keyName, durations, ...row }) => ({
      tenant,
      operationName,
      operationHash,
      clientName,
      clientVersion,
      key: keyName ?? keyId,
      requests: row.requests,
      errors: row.errors,
      points: row.points,
      p50: quantileOf(0.5, durations),
      p95: quantileOf(0.95, durations),
      lastUsedAt: row.lastUsedAt,
    }),
  )
}

const deprecatedHeader = ['FIELD', 'REQUESTS', 'LAST USE', 'REASON']

async function readDeprecated(usage: UsageReader, selection: UsageSelection) {
  const used = new Map((await usage.fields(selection)).map((row) => [row.field, row]))
  return [...deprecatedFields(schemas.schema)].map(([field, reason]) => {
    const { requests, lastUsedAt } = used.get(field) ?? { requests: 0, lastUsedAt: null }
    return { field, requests, lastUsedAt, reason }
  })
}

/**
 * Says whether a field may be removed. Counts of short periods prove little, so it says since when requests are
 * counted.
 */
async function summarize(usage: UsageReader, selection: UsageSelection, field: string): Promise<string> {
  const found = (await usage.fields(selection)).find((row) => row.field === field)
  const since = `since ${(await usage.firstDay()) ?? 'now'}, when the first request was counted`
  if (!found?.lastUsedAt) return `No request has selected ${field} ${since}.`
  return `${found.requests} requests have selected ${field} ${since}, the last one at ${found.lastUsedAt.toISOString()}.`
}
