import fc from 'fast-check'

// People, random filters of them, and the meaning of a filter in JavaScript.

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
const otherNullable = {
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

type OtherNullable = { readonly [Name in keyof typeof otherNullable]: (typeof otherNullable)[Name] | null }

/** The nullable fields of the filter of profiles. */
const nullableFields = [
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

/** Texts that have the same first 200 characters, which is what an index has. */
const longTexts = ['a', 'b'].map((end) => `${'𝒜x'.repeat(100)}${end}`)

const platforms = ['X', 'YOUTUBE', 'TWITCH']
const statuses = ['CONNECTED', 'EXPIRED', 'DISCONNECTED'] as const
const countries = ['DE', 'FR', null, ...longTexts]
const categories = [null, 'Music', ...longTexts, 'Travel', '']
const names = [
  'Ada',
  'ada 50%',
  'A_da',
  'B\\ob',
  "O'Neil",
  // Composed and decomposed, in scripts with two cases, and letters that change with the locale or their place.
  'Ünal',
  'U\u0308NAL',
  'INFO',
  'İstanbul',
  'ılık',
  'ΟΔΟΣ',
  'Жанна',
  'Straße',
  '東京',
]
const parts = [
  'a',
  'A',
  '%',
  '_',
  '\\',
  "'",
  '0%',
  '',
  'nobody',
  'usr_1@',
  'ünal',
  'u\u0308N',
  'info',
  'i',
  'I',
  'İ',
  'ΟΔΟΣ',
  'οδος',
  'ЖАН',
  'ß',
  '京',
]
const counts = [null, 0, 1, 5, 2 ** 53 - 1]
const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day)))

/** 12 users with up to 3 accounts each, of which three in four have a profile. */
export function createPeople(seed: number): People {
  // Values repeat with periods that have no common factor, so that most combinations occur.
  const pick = <Value>(values: readonly Value[], number: number): Value =>
    values[(number * seed + Math.floor(number / values.length)) % values.length] as Value
  const times = (number: number) => ({ createdAt: pick(days, number), updatedAt: pick(days, number + seed) })
  const users = Array.from({ length: 12 }, (_, number) => ({
    id: `usr_${number}`,
    name: pick(names, number),
    email: `usr_${number}@example.com`,
    phone: pick(['+1 555 0100', null, ''], number),
    ...times(number),
  }))
  const accounts = Array.from({ length: 24 }, (_, number) => ({
    id: `acc_${number}`,
    userId: `usr_${(number * number + 1) % 12}`,
    platform: pick(platforms, number),
    platformAccountId: `channel_${number}`,
    displayName: `@${pick(names, number)}`,
    status: pick(statuses, number),
    ...times(number),
  }))
  const profiles = accounts.flatMap(({ id: accountId, platform }, number) =>
    number % 4 === 0
      ? []
      : [
          {
            id: `prf_${number}`,
            accountId,
            platform,
            username: pick(names, number),
            fullName: pick([null, ...names], number),
            displayName: pick([...names, null], number),
            country: pick(countries, number),
            category: pick(categories, number),
            verified: pick([true, null, false], number),
            followersCount: pick(counts, number),
            ...othersOf((values, index) => pick(values, number + index)),
            ...times(number),
          },
        ],
  )
  return { User: users, Account: accounts, Profile: profiles }
}

function othersOf(pick: <Value>(values: readonly Value[], index: number) => Value): OtherNullable {
  const entries = Object.entries(otherNullable).map(([name, value], index) => [name, pick([value, null], index)])
  return Object.fromEntries(entries)
}

type Filter = Readonly<Record<string, unknown>>
export type FilterOf<K extends Kind> = Filter & { readonly kind?: K }

/** The form in which searches compare texts: see the migration of search_fold. */
const fold = (text: string) => text.normalize().toLowerCase().replaceAll('ς', 'σ').replaceAll('i\u0307', 'i')

const contains = (part: string, ...texts: (string | null)[]) =>
  texts.some((text) => text !== null && fold(text).includes(fold(part)))

type Predicates<Row> = Readonly<Record<string, (row: Row, value: never, people: People) => boolean>>

/** `countryIsNull` for each of the fields. */
function nullPredicates<Row extends object>(fields: readonly string[]): Predicates<Row> {
  const isNull = (field: string) => (row: Row, value: boolean) => (row[field as keyof Row] === null) === value
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
    ...nullPredicates(['phone']),
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

const innerFields = ['and', 'or', 'not', 'account', 'user', 'profile']

/** The number of conditions of a filter. */
export function sizeOf(filter: Filter): number {
  const sizes = Object.entries(filter).flatMap(([field, value]) => {
    if (value === null) return []
    return innerFields.includes(field) ? [value as Filter].flat().map(sizeOf) : [1]
  })
  return Math.max(
    1,
    sizes.reduce((sum, size) => sum + size, 0),
  )
}

const textsOf = (values: readonly (string | null)[]) =>
  fc.constantFrom(...values.filter((value) => value !== null), 'nobody')
const listOf = (values: readonly (string | null)[]) => fc.array(textsOf(values), { maxLength: 3 })
const idsOf = (prefix: string) => Array.from({ length: 12 }, (_, number) => `${prefix}_${number}`)
const time = fc.constantFrom(...days)
const count = fc.constantFrom(0, 1, 4, 5, 2 ** 53 - 1)

const leaves: { readonly [K in Kind]: Readonly<Record<string, fc.Arbitrary<unknown>>> } = {
  User: {
    ids: listOf(idsOf('usr')),
    email: textsOf(['usr_1@example.com', 'usr_5@example.com']),
    search: textsOf(parts),
    nameContains: textsOf(parts),
    platform: textsOf(platforms),
    platforms: listOf(platforms),
    createdAfter: time,
    createdBefore: time,
    updatedAfter: time,
    updatedBefore: time,
    phoneIsNull: fc.boolean(),
    hasAccounts: fc.boolean(),
  },
  Account: {
    ids: listOf(idsOf('acc')),
    platform: textsOf(platforms),
    platforms: listOf(platforms),
    search: textsOf(parts),
    userId: textsOf(idsOf('usr')),
    status: fc.constantFrom(...statuses),
    statuses: fc.array(fc.constantFrom(...statuses), { maxLength: 2 }),
    updatedAfter: time,
    hasProfile: fc.boolean(),
  },
  Profile: {
    ids: listOf(idsOf('prf')),
    platform: textsOf(platforms),
    platforms: listOf(platforms),
    search: textsOf(parts),
    country: textsOf(countries),
    countries: listOf(countries),
    category: textsOf(categories),
    categories: listOf(categories),
    verified: fc.boolean(),
    followersMin: count,
    followersMax: count,
    updatedAfter: time,
    ...Object.fromEntries(nullableFields.map((field) => [`${field}IsNull`, fc.boolean()])),
  },
}

const relations: { readonly [K in Kind]: Readonly<Record<string, Kind>> } = {
  User: { account: 'Account' },
  Account: { user: 'User', profile: 'Profile' },
  Profile: { account: 'Account' },
}

/** A filter that can be nested `depth` deep. It has one to three fields. */
function filterOf(kind: Kind, depth: number): fc.Arbitrary<Filter> {
  const leaf = fc.constantFrom(...Object.keys(leaves[kind])).chain((field) => fieldOf(field, leaves[kind][field]))
  if (depth === 0) return leaf
  const same = fc.memo((below) => filterOf(kind, below))(depth - 1)
  const inner = [
    fieldOf('and', fc.array(same, { maxLength: 3 })),
    fieldOf('or', fc.array(same, { maxLength: 3 })),
    fieldOf('not', same),
    ...Object.entries(relations[kind]).map(([field, to]) => fieldOf(field, filterOf(to, depth - 1))),
  ]
  return fc
    .array(fc.oneof(leaf, ...inner, ...inner), { minLength: 1, maxLength: 2 })
    .map((fields) => Object.assign({}, ...fields) as Filter)
}

function fieldOf(name: string, value: fc.Arbitrary<unknown> | undefined): fc.Arbitrary<Filter> {
  return (value ?? fc.constant(null)).map((given) => ({ [name]: given }))
}

/** Random filters, nested up to four deep. Some have more than 20 conditions. */
export const filters: { readonly [K in Kind]: fc.Arbitrary<Filter> } = {
  User: filterOf('User', 4),
  Account: filterOf('Account', 4),
  Profile: filterOf('Profile', 4),
}
