import { invalidField } from '@fusion-gateway/base'
import { type Account, dataModel, type Profile } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { changedSince, type Outcome, parseInput, writeEach, writeOne } from '@fusion-gateway/input'
import {
  type Arity,
  arityOf,
  type Change,
  changeColumns,
  changedValue,
  changeValues,
  expectedColumn,
  type GivenValue,
  givenParameters,
  givenValue,
  isAsExpected,
  isChangedBy,
  selectColumns,
  timeOfChange,
  unnestRows,
} from '@fusion-gateway/prisma-trees'
import { isPossibleId, type Sql, write } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { accountNotFound } from '../account/account.service.ts'
import { emailRecordIds } from './email-record.ts'
import { type Email, profileChange, profileFields } from './profile.input.ts'
import { profileIds, profileOfAccount } from './profile.ts'

/** The new state of the profile of an account. Fields that are undefined keep their value. */
interface ProfileChange {
  readonly account: Account
  readonly change: Change
  /** Undefined: the profile keeps its emails. */
  readonly emails: readonly Email[] | undefined
  /** The time of the last change of the stored profile. If it has another one, or there is none, nothing is written. */
  readonly expectedUpdatedAt: Date | undefined
}

interface ProfileEmails {
  readonly profileId: string
  readonly emails: readonly Email[]
}

const changeable = [...Object.keys(profileFields), 'phoneNumbers', 'addresses', 'unsupportedFields']

/** What a new profile has in columns that are never null. */
const whenMissing: Change = { phoneNumbers: [], addresses: [], unsupportedFields: [] }

const table = dataModel('Profile')
const { list, toRow } = selectColumns(table)
const changed = changeable.map((field) => table.columnOf(field))
const valuesOfChange = changeValues(changed, whenMissing).map(
  (read) => (profile: ProfileChange) => read(profile.change),
)

// The emails are replaced by the next statement. They are compared as sets, as texts of rows.
const hasOtherEmails = `given_emails IS NOT NULL AND
  ARRAY(SELECT ROW(value, type, is_verified, is_primary)::text FROM email_record
    WHERE tenant_app_id = $1 AND profile_id = stored.id ORDER BY 1) <>
  ARRAY(SELECT ROW(value, type, "isVerified", "isPrimary")::text
    FROM json_to_recordset(given_emails::json) AS email (value text, type text, "isVerified" boolean, "isPrimary" boolean) ORDER BY 1)`

const upsert = { one: write(upsertText('one'), list), many: write(upsertText('many'), list) }

/** The stored profile is locked and read in the statement itself, because an import does not lock the account. */
function upsertText(arity: Arity): string {
  const names = changed.map(({ column }) => `"${column}"`)
  const values = changed.map((column) =>
    changedValue(column, `coalesce(stored."${column.column}", ${givenValue(column)})`),
  )
  const isChange = changed.map((column) => isChangedBy(column, `stored."${column.column}"`))
  const keys = ['id', 'account_id', 'platform', 'platform_account_id', 'emails', expectedColumn]
  const given = unnestRows([...keys, ...changeColumns(changed)], 3, arity)
  return `
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, created_at, updated_at, synced_at, ${names.join(', ')})
    SELECT $1, given_id, given_account_id, given_platform, given_platform_account_id, $2::timestamptz,
      CASE WHEN stored.id IS NULL OR ${isChange.join(' OR ')} OR ${hasOtherEmails} THEN ${timeOfChange('$2', 'stored.updated_at')} ELSE stored.updated_at END, $2::timestamptz,
      ${values.join(', ')}
    FROM ${given} LEFT JOIN LATERAL (
      SELECT * FROM profile WHERE tenant_app_id = $1 AND account_id = given_account_id FOR UPDATE) AS stored ON true
    WHERE ${isAsExpected('stored.updated_at')}
    ON CONFLICT (tenant_app_id, account_id) DO UPDATE SET updated_at = excluded.updated_at, synced_at = excluded.synced_at,
      ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`
}

/**
 * Creates or changes the profiles of accounts, which must be locked, with one statement, except those that are not as
 * expected. Returns them by the ids of the accounts.
 */
async function upsertProfiles(
  sql: Sql,
  tenantAppId: string,
  changes: readonly ProfileChange[],
): Promise<ReadonlyMap<string, Profile>> {
  const values: readonly ((change: ProfileChange) => GivenValue | undefined)[] = [
    () => profileIds.create(),
    ({ account }) => account.id,
    ({ account }) => account.platform,
    ({ account }) => account.platformAccountId,
    ({ emails }) => emails && JSON.stringify(emails),
    ({ expectedUpdatedAt }) => expectedUpdatedAt,
    ...valuesOfChange,
  ]
  const arity = arityOf(changes)
  const given = givenParameters(changes, values, arity)
  const rows = await sql.query(upsert[arity], [tenantAppId, new Date().toISOString(), ...given])
  const profiles = rows.map(toRow) as Profile[]
  return new Map(profiles.map((profile) => [profile.accountId, profile]))
}

/**
 * Replaces the emails of profiles, whose accounts must be locked, with one statement. An email that stays (same value
 * and type) keeps its id and creation time.
 */
async function replaceEmails(sql: Sql, tenantAppId: string, profiles: readonly ProfileEmails[]): Promise<void> {
  const emails = profiles.flatMap(({ profileId, emails }) => emails.map((email) => ({ profileId, ...email })))
  const values: readonly ((email: (typeof emails)[number]) => GivenValue)[] = [
    () => emailRecordIds.create(),
    ({ profileId }) => profileId,
    ({ value }) => value,
    ({ type }) => type,
    ({ isVerified }) => isVerified,
    ({ isPrimary }) => isPrimary,
  ]
  const ids = profiles.map(({ profileId }) => profileId)
  const now = new Date().toISOString()
  await sql.execute(replace, [tenantAppId, now, ids, ...givenParameters(emails, values)])
}

// New ids are in the order of the emails. The nth of several equal emails of a profile is the nth of the stored ones. A
// full join is never a nested loop, which would take quadratic time.
const replace = write(`
  WITH given AS (
    SELECT given.*, coalesce('=' || given_type, '') AS kind,
      row_number() OVER (PARTITION BY given_profile_id, given_value, given_type ORDER BY given_id) AS nth
    FROM ${unnestRows(['id', 'profile_id', 'value', 'type', 'is_verified', 'is_primary'], 4)}
  ), stored AS (
    SELECT id, profile_id, value, is_verified, is_primary, coalesce('=' || type, '') AS kind,
      row_number() OVER (PARTITION BY profile_id, value, type ORDER BY created_at, id) AS nth
    FROM email_record WHERE tenant_app_id = $1 AND profile_id = ANY ($3)
  ), both_of AS (
    SELECT given.*, stored.id, (stored.is_verified, stored.is_primary) = (given_is_verified::boolean, given_is_primary::boolean) AS is_same
    FROM given FULL JOIN stored ON stored.profile_id = given_profile_id AND stored.value = given_value
      AND stored.kind = given.kind AND stored.nth = given.nth
  ), removed AS (
    DELETE FROM email_record WHERE tenant_app_id = $1 AND id = ANY (ARRAY(SELECT id FROM both_of WHERE given_id IS NULL))
  )
  INSERT INTO email_record (tenant_app_id, id, profile_id, value, type, is_verified, is_primary, created_at, updated_at)
  SELECT $1, coalesce(id, given_id), given_profile_id, given_value, given_type, given_is_verified::boolean, given_is_primary::boolean,
    $2::timestamptz, $2::timestamptz
  FROM both_of WHERE given_id IS NOT NULL AND is_same IS NOT TRUE ORDER BY given_id
  ON CONFLICT (tenant_app_id, id) DO UPDATE
    SET is_verified = excluded.is_verified, is_primary = excluded.is_primary, updated_at = excluded.updated_at`)

type SyncInput = z.input<typeof profileChange> & { readonly accountId: string }

/**
 * Creates or changes the profiles of accounts. An email that stays (same value and type) keeps its id and creation
 * time. Runs in a transaction. An input is rejected with NOT_FOUND for `accountId`, and with CONFLICT for
 * `expectedUpdatedAt`.
 */
export function syncProfiles(context: Context, inputs: readonly SyncInput[]): Promise<Outcome<Profile>[]> {
  return writeEach(inputs, {
    parse: toSync,
    unique: { accountId: ({ accountId }) => accountId },
    write: (syncs) => writeSyncs(context, syncs),
  })
}

export const syncProfile = writeOne(syncProfiles)

interface Sync extends Omit<ProfileChange, 'account'> {
  readonly accountId: string
}

function toSync({ accountId, ...input }: SyncInput): Sync {
  const parsed = parseInput(profileChange, input)
  const { emails, phoneNumbers, addresses, unsupportedFields, expectedUpdatedAt, ...scalars } = parsed
  if (!isPossibleId(accountId)) throw accountNotFound('accountId')
  const change = {
    ...scalars,
    phoneNumbers: orEmpty(phoneNumbers),
    addresses: orEmpty(addresses),
    unsupportedFields: orEmpty(unsupportedFields),
  }
  return { accountId, change, emails: emails === null ? [] : emails, expectedUpdatedAt }
}

const orEmpty = (list: readonly unknown[] | null | undefined) => (list === null ? [] : list)

async function writeSyncs(
  { viewer: { tenantAppId }, sql, db, loaders }: Context,
  syncs: readonly Sync[],
): Promise<Outcome<Profile>[]> {
  const ids = syncs.map(({ accountId }) => accountId)
  // Locked until the end of the transaction, so that two calls for one account do not interleave.
  const locked = await db.account.lockMany({ where: { id: { in: ids } }, strength: 'UPDATE' })
  const accounts = new Map(locked.map((account) => [account.id, account]))
  const possible = syncs.filter(({ accountId }) => accounts.has(accountId))
  if (possible.length === 0) return syncs.map(() => accountNotFound('accountId'))
  const written = await upsertProfiles(
    sql,
    tenantAppId,
    possible.map(({ accountId, ...sync }) => ({ account: accounts.get(accountId) as Account, ...sync })),
  )
  const replaced = possible.flatMap(({ accountId, emails }) => {
    const profile = written.get(accountId)
    return profile && emails ? [{ profileId: profile.id, emails }] : []
  })
  if (replaced.length > 0) await replaceEmails(sql, tenantAppId, replaced)
  const unwritten = possible.filter(({ accountId }) => !written.has(accountId)).map(({ accountId }) => accountId)
  const current = unwritten.length > 0 ? await loaders.loadAll(profileOfAccount, unwritten) : []
  return syncs.map(({ accountId }) => {
    if (!accounts.has(accountId)) return accountNotFound('accountId')
    const profile = current[unwritten.indexOf(accountId)]
    return written.get(accountId) ?? (profile ? changedSince(profile) : noProfile())
  })
}

function noProfile() {
  const message = 'is given, but the account has no profile. Leave it out to create one'
  return invalidField('expectedUpdatedAt', 'CONFLICT', message)
}
