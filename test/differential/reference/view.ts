import type { Cursors } from './cursors.ts'
import type { People } from './people.ts'
import type { Row, Tables, TextOrder, Typename } from './tables.ts'

/** The holder of a key or token, as the reference knows it. */
export interface Holder {
  readonly tenantAppId: string
  readonly tenantName: string
  readonly keyName: string
  readonly scopes: readonly string[]
  /** The user to whom a token is bound. */
  readonly userId?: string
}

/** The rows that a holder may see, with what finds them. */
export interface View extends Holder {
  readonly rows: Tables
  readonly byId: Readonly<Record<Typename, ReadonlyMap<string, Row>>>
  readonly profileOf: ReadonlyMap<unknown, Row>
  readonly emailsOf: ReadonlyMap<unknown, readonly Row[]>
  /** The rows in the form that the predicates of filters take. */
  readonly people: People
  readonly order: TextOrder
  readonly cursors: Cursors
}

/** Shows a holder the rows of the tenant or, for the token of a user, those of the user. */
export function createView(holder: Holder, tables: Tables, order: TextOrder, cursors: Cursors): View {
  const rows = rowsFor(holder, tables)
  const indexed = Object.entries(rows).map(
    ([typename, of]) => [typename, new Map(of.map((row) => [row.id, row]))] as const,
  )
  const oldestFirst = (of: readonly Row[]) =>
    of.toSorted(
      (one, other) =>
        String(one['createdAt']).localeCompare(String(other['createdAt'])) ||
        (order.get(one.id) ?? 0) - (order.get(other.id) ?? 0),
    )
  return {
    ...holder,
    rows,
    order,
    cursors,
    byId: Object.fromEntries(indexed) as unknown as View['byId'],
    profileOf: new Map(rows.Profile.map((row) => [row['accountId'], row])),
    emailsOf: Map.groupBy(oldestFirst(rows.EmailRecord), (row) => row['profileId']),
    people: toPeople(holder, rows),
  }
}

function rowsFor({ userId }: Holder, tables: Tables): Tables {
  if (userId === undefined) return tables
  const accounts = tables.Account.filter((row) => row['userId'] === userId)
  const accountIds = new Set(accounts.map(({ id }) => id))
  const profiles = tables.Profile.filter((row) => accountIds.has(String(row['accountId'])))
  const profileIds = new Set(profiles.map(({ id }) => id))
  return {
    User: tables.User.filter(({ id }) => id === userId),
    Account: accounts,
    Profile: profiles,
    EmailRecord: tables.EmailRecord.filter((row) => profileIds.has(String(row['profileId']))),
    Event: tables.Event.filter((row) => row['userId'] === userId),
    // They belong to no user.
    Job: [],
    ApiKey: [],
  }
}

function toPeople({ scopes }: Holder, rows: Tables): People {
  const withDates = (of: readonly Row[]) =>
    of.map((row) => ({
      ...row,
      createdAt: new Date(String(row['createdAt'])),
      updatedAt: new Date(String(row['updatedAt'])),
    }))
  const users = withDates(rows.User)
  return {
    // A search does not find an address that the holder may not see.
    User: scopes.includes('contacts:read') ? users : users.map((user) => ({ ...user, email: '' })),
    Account: withDates(rows.Account),
    Profile: withDates(rows.Profile),
  } as unknown as People
}
