import { isDeepStrictEqual } from 'node:util'
import type { Row, Tables, Typename } from '../reference/tables.ts'
import type { Holder } from '../reference/view.ts'
import type { Input } from './inputs.ts'

// What mutations do, in plain code over arrays of rows. What only the gateway can know (new ids, times) is taken from
// the rows after the mutation; everything else is predicted.

/** Why an input is rejected: the field and the code. */
export interface Rejection {
  readonly field: string
  readonly code: string
  /** The row that has changed since the time that the input expects. */
  readonly current?: Row
}

/** What a payload says of a deleted row, by its fields. */
export class Deleted {
  readonly fields: Readonly<Record<string, unknown>>

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.fields = fields
  }
}

/** What became of an input: a row, what was deleted, or why it was rejected. */
export type Result = Row | Deleted | readonly Rejection[]

/** The rows that a mutation should leave. */
export class Model {
  private readonly rows: Record<Typename, Map<string, Row>>
  private readonly after: Tables
  private readonly before: Tables
  private readonly holder: Holder

  constructor(holder: Holder, before: Tables, after: Tables) {
    this.holder = holder
    this.before = before
    this.after = after
    const maps = Object.entries(before).map(([typename, of]) => [typename, new Map(of.map((row) => [row.id, row]))])
    this.rows = Object.fromEntries(maps)
  }

  /** All rows, by their types and ids. */
  tables(): Readonly<Record<string, ReadonlyMap<string, Row>>> {
    return this.rows
  }

  private all(typename: Typename): Row[] {
    return [...this.rows[typename].values()]
  }

  /** The row that the holder may change. */
  private owned(typename: 'User' | 'Account', id: unknown): Row | undefined {
    const row = this.rows[typename].get(String(id))
    const { userId } = this.holder
    return userId === undefined || row?.[typename === 'User' ? 'id' : 'userId'] === userId ? row : undefined
  }

  /** A row after the mutation that was not there before, and has certain values. The smallest id was created first. */
  private created(typename: Typename, values: Input): Row {
    const known = new Set(this.before[typename].map(({ id }) => id))
    const found = this.after[typename]
      .filter((row) => !known.has(row.id) && !this.rows[typename].has(row.id))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .find((row) => Object.entries(values).every(([field, value]) => isDeepStrictEqual(row[field], value)))
    if (!found) throw new Error(`No ${typename} was created with ${JSON.stringify(values)}`)
    this.rows[typename].set(found.id, found)
    return found
  }

  /** Changes fields of a row. Its time is that of the change. */
  private changed(typename: Typename, row: Row, values: Input): Row {
    if (Object.keys(values).length === 0) return row
    const now = this.after[typename].find(({ id }) => id === row.id)?.['updatedAt']
    if (!(String(now) >= String(row['updatedAt']))) throw new Error(`${row.id} has no new time of its change`)
    const changed = { ...row, ...values, updatedAt: now }
    this.rows[typename].set(row.id, changed)
    return changed
  }

  /** The ids of the rows that have one of the values in a field, in their order. */
  private idsOf(typename: Typename, field: string, values: readonly string[]): string[] {
    const found = this.all(typename).filter((row) => values.includes(String(row[field])))
    return found.map(({ id }) => id).sort()
  }

  private delete(typename: Typename, field: string, ids: readonly string[]): void {
    const below: Partial<Record<Typename, readonly [Typename, string]>> = {
      User: ['Account', 'userId'],
      Account: ['Profile', 'accountId'],
      Profile: ['EmailRecord', 'profileId'],
    }
    const gone = this.all(typename).filter((row) => ids.includes(String(row[field])))
    for (const { id } of gone) this.rows[typename].delete(id)
    const next = below[typename]
    if (next)
      this.delete(
        ...next,
        gone.map(({ id }) => id),
      )
  }

  createUser({ name, email, phone }: Input): Result {
    return this.created('User', { name: String(name).trim(), email, phone })
  }

  updateUser({ id, name, email, phone, expectedUpdatedAt }: Input): Result {
    const row = this.owned('User', id)
    if (!row) return notFound('id')
    if (isOther(row, expectedUpdatedAt)) return conflict(row)
    return this.changed('User', row, {
      ...(name != null && { name: String(name).trim() }),
      ...(email != null && { email }),
      ...(phone !== undefined && { phone }),
    })
  }

  deleteUser({ id, expectedUpdatedAt }: Input): Result {
    const row = this.owned('User', id)
    if (!row) return notFound('id')
    if (isOther(row, expectedUpdatedAt)) return conflict(row)
    const accountIds = this.idsOf('Account', 'userId', [String(id)])
    const profileIds = this.idsOf('Profile', 'accountId', accountIds)
    this.delete('User', 'id', [String(id)])
    return new Deleted({ deletedUserId: id, unlinkedAccountIds: accountIds, deletedProfileIds: profileIds })
  }

  linkAccount({ id, userId, platform, platformAccountId, displayName, status }: Input): Result {
    if (!this.owned('User', userId)) return notFound('userId')
    const existing = this.all('Account').find(
      (row) => row['platform'] === platform && row['platformAccountId'] === platformAccountId,
    )
    if (existing) return existing['userId'] === userId ? existing : [{ field: 'platformAccountId', code: 'CONFLICT' }]
    if (id != null && this.rows.Account.has(String(id))) return [{ field: 'id', code: 'CONFLICT' }]
    const values = { userId, platform, platformAccountId, displayName, status: status ?? 'CONNECTED' }
    return this.created('Account', { ...values, ...(id != null && { id }) })
  }

  updateAccount({ id, displayName, status, expectedUpdatedAt }: Input): Result {
    const row = this.owned('Account', id)
    if (!row) return notFound('id')
    if (isOther(row, expectedUpdatedAt)) return conflict(row)
    return this.changed('Account', row, {
      ...(displayName != null && { displayName }),
      ...(status != null && { status }),
    })
  }

  unlinkAccount({ id, expectedUpdatedAt }: Input): Result {
    const row = this.owned('Account', id)
    if (!row) return notFound('id')
    if (isOther(row, expectedUpdatedAt)) return conflict(row)
    const [deletedProfileId = null] = this.idsOf('Profile', 'accountId', [String(id)])
    this.delete('Account', 'id', [String(id)])
    const user = this.rows.User.get(String(row['userId']))
    return new Deleted({ unlinkedAccountId: id, deletedProfileId, user })
  }

  syncProfile({ accountId, emails, expectedUpdatedAt, ...given }: Input): Result {
    const account = this.owned('Account', accountId)
    if (!account) return notFound('accountId')
    const lists = ['addresses', 'phoneNumbers', 'unsupportedFields']
    const values = Object.fromEntries(
      Object.entries(given).map(([field, value]) => [
        field,
        lists.includes(field) ? [...new Set((value ?? []) as unknown[])] : value,
      ]),
    )
    const existing = this.all('Profile').find((row) => row['accountId'] === accountId)
    if (isOther(existing, expectedUpdatedAt)) return conflict(existing)
    const { platform, platformAccountId } = account
    const after = this.after.Profile.find((row) => row['accountId'] === accountId)
    const profile = existing
      ? this.changed('Profile', existing, { ...values, syncedAt: after?.['syncedAt'] })
      : this.created('Profile', { ...values, accountId, platform, platformAccountId })
    if (emails !== undefined) this.replaceEmails(profile.id, (emails ?? []) as Input[])
    return profile
  }

  /** An email with the same value and type stays the same row. */
  private replaceEmails(profileId: string, emails: readonly Input[]): void {
    const left = this.all('EmailRecord').filter((row) => row['profileId'] === profileId)
    for (const { id } of left) this.rows.EmailRecord.delete(id)
    for (const { value, type = null, isVerified = false, isPrimary = false } of emails) {
      const index = left.findIndex((row) => row['value'] === value && row['type'] === type)
      const [stored] = index < 0 ? [] : left.splice(index, 1)
      if (!stored) this.created('EmailRecord', { profileId, value, type, isVerified, isPrimary })
      else {
        this.rows.EmailRecord.set(stored.id, stored)
        const isSame = stored['isVerified'] === isVerified && stored['isPrimary'] === isPrimary
        if (!isSame) this.changed('EmailRecord', stored, { isVerified, isPrimary })
      }
    }
  }

  createJob({ jobType, payload = null, maxAttempts = 3, runAt, idempotencyKey = null }: Input): Result {
    const existing =
      idempotencyKey === null ? undefined : this.all('Job').find((row) => row['idempotencyKey'] === idempotencyKey)
    if (!existing) {
      const values = { jobType, payload, maxAttempts, idempotencyKey, status: 'PENDING', attempts: 0, result: null }
      return this.created('Job', { ...values, ...(runAt !== undefined && { runAt }) })
    }
    const isSame = existing['jobType'] === jobType && isDeepStrictEqual(existing['payload'], payload)
    return isSame ? existing : [{ field: 'idempotencyKey', code: 'CONFLICT' }]
  }
}

const notFound = (field: string) => [{ field, code: 'NOT_FOUND' }]

function isOther(row: Row | undefined, expected: unknown): boolean {
  return expected !== undefined && Date.parse(String(row?.['updatedAt'])) !== Date.parse(String(expected))
}

const conflict = (current: Row | undefined) => [
  { field: 'expectedUpdatedAt', code: 'CONFLICT', ...(current && { current }) },
]
