import fc from 'fast-check'
import {
  type Filter,
  type Kind,
  nullableFields,
  type OtherNullable,
  otherNullable,
  type People,
} from '../differential/reference/people.ts'
import type { TestApp, TestTenant } from '../support/app.ts'

// Rows of people, and random filters of them.

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

/** Stores people as the rows of a tenant. */
export async function storePeople(app: TestApp, owner: TestTenant, { User, Account, Profile }: People): Promise<void> {
  const { prisma } = app.database
  const { tenantAppId } = owner
  await prisma.user.createMany({ data: User.map((row) => ({ ...row, tenantAppId })) })
  await prisma.account.createMany({ data: Account.map((row) => ({ ...row, tenantAppId })) })
  const toBigInt = (count: number | null) => (count === null ? null : BigInt(count))
  const data = Profile.map((row) => ({
    ...row,
    tenantAppId,
    platformAccountId: row.accountId,
    followersCount: toBigInt(row.followersCount),
    followingCount: toBigInt(row.followingCount),
    subscribersCount: toBigInt(row.subscribersCount),
    contentsCount: toBigInt(row.contentsCount),
  }))
  await prisma.profile.createMany({ data })
}

/** What a user's token can see. */
export function ofUser({ User, Account, Profile }: People, userId: string): People {
  const accounts = Account.filter((row) => row.userId === userId)
  return {
    User: User.filter(({ id }) => id === userId),
    Account: accounts,
    Profile: Profile.filter(({ accountId }) => accounts.some(({ id }) => id === accountId)),
  }
}
