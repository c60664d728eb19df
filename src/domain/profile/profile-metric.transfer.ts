import { ownValue } from '@fusion-gateway/base'
import { type Database, dataModel } from '@fusion-gateway/database'
import { id, orNull, recordDate } from '@fusion-gateway/input'
import { insertRows } from '@fusion-gateway/prisma-trees'
import { type Parameter, statement } from '@fusion-gateway/sql'
import { z } from 'zod'
import { type Json, RecordError, recordKeyOf, type Transfer } from '../resource.ts'
import { profileFields } from './profile.input.ts'
import { metricFields } from './profile-metric.ts'

const numbers: object = Object.fromEntries(
  metricFields.map((field) => [recordKeyOf(field), orNull(ownValue(profileFields, field) as z.ZodType)]),
)

const day = recordDate.refine((text) => text <= new Date().toISOString().slice(0, text.length), {
  message: 'must not be in the future, in UTC',
})

/** The numbers of a profile at the end of a day. The profile is found by its id or by that of its account. */
const metricRecord = z
  .object({
    kind: z.literal('profile_metric', { error: 'must be `profile_metric`' }),
    profile_id: orNull(id),
    account_id: orNull(id),
    day,
    ...numbers,
  })
  .refine((record) => record.profile_id !== null || record.account_id !== null, {
    message: 'or `account_id` is required',
    path: ['profile_id'],
  })

type MetricRecord = z.output<typeof metricRecord>

export const metricTransfer: Transfer<MetricRecord> = {
  recognisedBy: 'kind',
  kind: 'profile_metric',
  record: metricRecord,
  write: writeMetrics,
  export: { belongsTo: 'user', readRecords },
}

const pageSize = 1_000
const columns = metricFields.map((field) => dataModel('ProfileMetric').columnOf(field))

/** Parameters: tenant, accounts, and the last row of the page before. */
const readPage = statement(`
  SELECT profile_id, day::text, ${columns.map(({ column, type }) => (type === 'BigInt' ? `${column}::float8` : column)).join(', ')} FROM profile_metric
  WHERE tenant_app_id = $1 AND profile_id = ANY (ARRAY(SELECT id FROM profile WHERE tenant_app_id = $1 AND account_id = ANY ($2)))
    AND (profile_id, day) > ($3, $4::date)
  ORDER BY profile_id, day LIMIT ${pageSize}`)

/** Reads the histories of the profiles of users, page by page. */
async function* readRecords({ sql }: Database, tenantAppId: string, users: readonly Json[]): AsyncGenerator<Json[]> {
  const accountIds = users.flatMap(({ accounts }) => (accounts as { id: string }[]).map(({ id }) => id))
  let last: readonly [id: string, day: string] | undefined = ['', '-infinity']
  while (last && accountIds.length > 0) {
    const rows: unknown[][] = await sql.query(readPage, [tenantAppId, accountIds, ...last])
    yield rows.map(([profileId, day, ...values]) => ({
      kind: 'profile_metric',
      profile_id: profileId,
      day,
      ...Object.fromEntries(columns.map(({ column }, index) => [column, values[index]])),
    }))
    const [id, day] = rows.at(-1) ?? []
    last = rows.length === pageSize ? [String(id), String(day)] : undefined
  }
}

/**
 * The import of a profile writes its numbers at the day of its last synchronization. That row says nothing if the
 * history has the same numbers before. Parameters: tenant, and the profiles and days that were imported.
 */
const removeRepeated = statement(`
  DELETE FROM profile_metric AS extra USING profile
  WHERE extra.tenant_app_id = $1 AND profile.tenant_app_id = $1 AND profile.id = extra.profile_id AND extra.profile_id = ANY ($2)
    AND extra.day = (coalesce(profile.synced_at, now()) AT TIME ZONE 'UTC')::date
    AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[]) AS given (id, day) WHERE given.id = extra.profile_id AND given.day::date = extra.day)
    AND EXISTS (
      SELECT FROM (
        SELECT * FROM profile_metric AS former WHERE former.tenant_app_id = $1 AND former.profile_id = extra.profile_id AND former.day < extra.day
        ORDER BY former.day DESC LIMIT 1) AS former
      WHERE (${columns.map(({ column }) => `former.${column}`).join(', ')}) IS NOT DISTINCT FROM (${columns.map(({ column }) => `extra.${column}`).join(', ')}))`)

/**
 * Writes numbers of days. A record replaces the numbers that the profile has at the day.
 *
 * @throws RecordError if a profile does not exist, or belongs to another account
 */
async function writeMetrics(
  { sql, reads }: Database,
  tenantAppId: string,
  records: readonly MetricRecord[],
): Promise<void> {
  const owner = { id: tenantAppId }
  const idsOf = (key: 'profile_id' | 'account_id') => [...new Set(records.flatMap((record) => record[key] ?? []))]
  const byId = await reads.batch(sql, 'Profile', 'id', owner, idsOf('profile_id'))
  const byAccount = await reads.batch(sql, 'Profile', 'accountId', owner, idsOf('account_id'))
  const profiles = new Map(byId.map((profile) => [profile.id, profile]))
  const ofAccounts = new Map(byAccount.map((profile) => [profile.accountId, profile]))
  const found = records.map(({ profile_id, account_id }) => {
    const profile = profile_id === null ? ofAccounts.get(account_id ?? '') : profiles.get(profile_id)
    if (!profile) {
      throw new RecordError(
        profile_id === null ? `the account ${account_id} has no profile` : `there is no profile ${profile_id}`,
      )
    }
    if (account_id !== null && profile.accountId !== account_id) {
      throw new RecordError(`the profile ${profile_id} belongs to another account`)
    }
    return profile.id
  })
  const rows = records.map((record, index) => ({
    tenantAppId,
    profileId: found[index] ?? null,
    day: record.day,
    ...Object.fromEntries(metricFields.map((field) => [field, ownValue(record, recordKeyOf(field)) as Parameter])),
  }))
  const conflict = { update: metricFields, key: ['profileId', 'day'] }
  await insertRows(sql, dataModel('ProfileMetric'), rows, conflict)
  await sql.execute(removeRepeated, [tenantAppId, found, records.map(({ day }) => day)])
}
