// The rows of people, and the meaning of a filter of them in JavaScript.

/** The rows of a tenant. */
export interface People {
  readonly User: readonly UserRow[]
  readonly Account: readonly AccountRow[]
  readonly Profile: readonly ProfileRow[]
}

export type Kind = keyof People

interface UserRow {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly phone: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface AccountRow {
  readonly id: string
  readonly userId: string
  readonly platform: string
  readonly platformAccountId: string
  readonly displayName: string
  readonly status: 'CONNECTED' | 'EXPIRED' | 'DISCONNECTED'
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Nullable fields of a profile that only the conditions on null look at, and a value of each. */
export const otherNullable = {
  url: 'https://example.com',
  gender: 'FEMALE',
  firstName: 'Ada',
  lastName: '',
  nickName: 'A',
  description: '𝒜'.repeat(3_000),
  profilePictureUrl: 'https://example.com/a.jpg',
  dateOfBirth: new Date('1815-12-10'),
  websiteUrl: 'https://example.com',
  followingCount: 0,
  subscribersCount: 1,
  contentsCount: 2,
  watchTimeInHours: 0.5,
  joinedAt: new Date('2026-01-01T00:00:00Z'),
}

export type OtherNullable = { readonly [Name in keyof typeof otherNullable]: (typeof otherNullable)[Name] | null }

/** The nullable fields of the filter of profiles. */
export const nullableFields = [
  ...Object.keys(otherNullable),
  'username',
  'fullName',
  'displayName',
  'country',
  'category',
  'verified',
  'followersCount',
]

interface ProfileRow extends OtherNullable {
  readonly id: string
  readonly accountId: string
  readonly platform: string
  readonly username: string | null
  readonly fullName: string | null
  readonly displayName: string | null
  readonly country: string | null
  readonly category: string | null
  readonly verified: boolean | null
  readonly followersCount: number | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type Filter = Readonly<Record<string, unknown>>
export type FilterOf<K extends Kind> = Filter & { readonly kind?: K }

/** The form in which searches compare texts: see the migration of search_fold. */
const fold = (text: string) => text.normalize().toLowerCase().replaceAll('ς', 'σ').replaceAll('i\u0307', 'i')

const contains = (part: string, ...texts: (string | null)[]) =>
  texts.some((text) => text !== null && fold(text).includes(fold(part)))

type Predicates<Row> = Readonly<Record<string, (row: Row, value: never, people: People) => boolean>>

/** `countryIsNull` for each of the fields. */
function nullPredicates<Row extends object>(fields: readonly string[]): Predicates<Row> {
  const isNull = (field: string) => (row: Row, value: boolean) => ((row[field as keyof Row] ?? null) === null) === value
  return Object.fromEntries(fields.map((field) => [`${field}IsNull`, isNull(field)])) as Predicates<Row>
}

const predicates: { readonly [K in Kind]: Predicates<People[K][number]> } = {
  User: {
    ids: ({ id }, values: string[]) => values.includes(id),
    email: ({ email }, value: string) => email === value,
    search: ({ name, email }, part: string) => contains(part, name, email),
    nameContains: ({ name }, part: string) => contains(part, name),
    platform: ({ id }, value: string, { Account }) =>
      Account.some(({ userId, platform }) => userId === id && platform === value),
    platforms: ({ id }, values: string[], { Account }) =>
      Account.some(({ userId, platform }) => userId === id && values.includes(platform)),
    createdAfter: ({ createdAt }, time: Date) => createdAt > time,
    createdBefore: ({ createdAt }, time: Date) => createdAt < time,
    updatedAfter: ({ updatedAt }, time: Date) => updatedAt > time,
    updatedBefore: ({ updatedAt }, time: Date) => updatedAt < time,
    // No user of the world has one.
    externalIds: () => false,
    ...nullPredicates(['phone', 'externalId', 'metadata']),
    hasAccounts: ({ id }, value: boolean, { Account }) => Account.some(({ userId }) => userId === id) === value,
    account: ({ id }, filter: Filter, people) =>
      people.Account.some((row) => row.userId === id && isSelected(people, 'Account', row, filter)),
  },
  Account: {
    ids: ({ id }, values: string[]) => values.includes(id),
    platform: ({ platform }, value: string) => platform === value,
    platforms: ({ platform }, values: string[]) => values.includes(platform),
    userId: ({ userId }, value: string) => userId === value,
    status: ({ status }, value: string) => status === value,
    statuses: ({ status }, values: string[]) => values.includes(status),
    search: ({ displayName, platformAccountId }, part: string) => contains(part, displayName, platformAccountId),
    updatedAfter: ({ updatedAt }, time: Date) => updatedAt > time,
    hasProfile: ({ id }, value: boolean, { Profile }) => Profile.some(({ accountId }) => accountId === id) === value,
    user: ({ userId }, filter: Filter, people) =>
      people.User.some((row) => row.id === userId && isSelected(people, 'User', row, filter)),
    profile: ({ id }, filter: Filter, people) =>
      people.Profile.some((row) => row.accountId === id && isSelected(people, 'Profile', row, filter)),
  },
  Profile: {
    ids: ({ id }, values: string[]) => values.includes(id),
    platform: ({ platform }, value: string) => platform === value,
    platforms: ({ platform }, values: string[]) => values.includes(platform),
    country: ({ country }, value: string) => country === value,
    countries: ({ country }, values: string[]) => country !== null && values.includes(country),
    category: ({ category }, value: string) => category === value,
    categories: ({ category }, values: string[]) => category !== null && values.includes(category),
    search: ({ username, fullName, displayName }, part: string) => contains(part, username, fullName, displayName),
    verified: ({ verified }, value: boolean) => verified === value,
    followersMin: ({ followersCount }, value: number) => followersCount !== null && followersCount >= value,
    followersMax: ({ followersCount }, value: number) => followersCount !== null && followersCount <= value,
    updatedAfter: ({ updatedAt }, time: Date) => updatedAt > time,
    ...nullPredicates(nullableFields),
    account: ({ accountId }, filter: Filter, people) =>
      people.Account.some((row) => row.id === accountId && isSelected(people, 'Account', row, filter)),
  },
}

/** Whether a filter selects a row. */
export function isSelected<K extends Kind>(people: People, kind: K, row: People[K][number], filter: Filter): boolean {
  const matches = (inner: Filter) => isSelected(people, kind, row, inner)
  return Object.entries(filter).every(([field, value]) => {
    if (value === null || value === undefined) return true
    if (field === 'and') return (value as Filter[]).every(matches)
    if (field === 'or') return (value as Filter[]).some(matches)
    if (field === 'not') return !matches(value as Filter)
    return predicates[kind][field]?.(row, value as never, people)
  })
}
