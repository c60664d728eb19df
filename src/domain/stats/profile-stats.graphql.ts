import {
  countsOf,
  groups,
  keyedGroups,
  numbers,
  pointsOfScan,
  rowCount,
  type Stats,
} from '@fusion-gateway/pothos-trees'
import { accountById } from '../account/account.ts'
import { builder } from '../builder.ts'
import { ProfileFilter } from '../profile/profile.graphql.ts'
import { AccountStatusCount, statusesOf } from './user-stats.graphql.ts'

type VerifiedCounts = Readonly<Record<'verified' | 'unverified' | 'unknown', number>>

const VerifiedCounts = builder.objectRef<VerifiedCounts>('VerifiedCounts').implement({
  scope: 'inherited',
  description: 'How many profiles their platforms have verified.',
  fields: (t) => ({
    verified: t.exposeInt('verified', { description: 'The number of verified profiles.' }),
    unverified: t.exposeInt('unverified', { description: 'The number of profiles that are not verified.' }),
    unknown: t.exposeInt('unknown', { description: 'The number of profiles of which it is not known.' }),
  }),
})

const valuesOf = (field: string) => (limit: number) => ({ of: 'values', field, limit }) as const

const statusOfAccount = (limit: number) =>
  ({ of: 'related values', relation: accountById, from: 'accountId', field: 'status', limit }) as const

/** The ranges of followers begin at these numbers. */
const bounds = [1_000, 10_000, 100_000, 1_000_000]

/** The range of a number: `0-999`, `1000-9999`, …, `1000000+`. */
function rangeOf(number: string): string {
  const [from, to] = [[0, ...bounds][Number(number)], bounds[Number(number)]]
  return to === undefined ? `${from}+` : `${from}-${to - 1}`
}

const text = (field: string, description: string) => ({ field, type: 'String' as const, description, key: { field } })

const cost = { extra: () => pointsOfScan }

const ProfileStats = builder.objectRef<Stats>('ProfileStats').implement({
  scope: 'inherited',
  description: 'Statistics of profiles.',
  fields: (t) => ({
    count: rowCount(t, 'The number of profiles.'),
    platforms: groups(t, 'The number of profiles on each platform.', valuesOf('platform')),
    countries: groups(t, 'The number of profiles with each country code.', valuesOf('country')),
    categories: groups(t, 'The number of profiles in each category or niche.', valuesOf('category')),
    verified: t.field({
      type: VerifiedCounts,
      description: 'The number of profiles that are verified, or not.',
      cost,
      resolve: async (load) => {
        const counts = new Map(await countsOf(load, valuesOf('verified')))
        return {
          verified: counts.get('true') ?? 0,
          unverified: counts.get('false') ?? 0,
          unknown: counts.get(null) ?? 0,
        }
      },
    }),
    statuses: t.field({
      type: [AccountStatusCount],
      scope: 'users:read',
      isMasked: true,
      description: 'The number of profiles whose account is in each state.',
      cost,
      resolve: (load) => statusesOf(load, statusOfAccount),
    }),
    groups: keyedGroups(t, {
      name: 'Profile',
      plural: 'profiles',
      // Synchronizing a profile that has not changed writes the time alone, and no event.
      isUnlogged: true,
      by: {
        PLATFORM: text('platform', 'The platform in upper case.'),
        COUNTRY: text('country', 'The country code.'),
        CATEGORY: text('category', 'The category or niche.'),
        GENDER: text('gender', "The owner's gender in upper case."),
        VERIFIED: {
          field: 'verified',
          type: 'Boolean',
          description: 'Whether the platform has verified the profile.',
          key: { field: 'verified' },
          decode: (value) => value === 'true',
        },
        JOINED_MONTH: {
          field: 'joinedMonth',
          type: 'Date',
          description: 'The first day of the month, in UTC, in which the profile was created on the platform.',
          key: { start: 'month', of: ['joinedAt'] },
        },
        SYNCED_DAY: {
          field: 'syncedDay',
          type: 'Date',
          description: 'The day, in UTC, of the last synchronization.',
          key: { start: 'day', of: ['syncedAt', 'updatedAt'] },
        },
        FOLLOWERS_RANGE: {
          field: 'followersRange',
          type: 'String',
          description:
            'The range of the number of followers: `0-999`, `1000-9999`, `10000-99999`, `100000-999999` or `1000000+`.',
          key: { field: 'followersCount', bounds },
          decode: rangeOf,
        },
      },
      numbers: {
        followers: { of: { field: 'followersCount' }, order: 'FOLLOWERS', description: 'The numbers of followers.' },
        contents: { of: { field: 'contentsCount' }, order: 'CONTENTS', description: 'The numbers of posted items.' },
        watchTime: {
          of: { field: 'watchTimeInHours' },
          order: 'WATCH_TIME',
          description: 'The watch times of the content, in hours.',
        },
      },
    }),
    followers: numbers(t, 'followersCount', 'The numbers of followers.'),
  }),
})

builder.queryField('profileStats', (t) =>
  t.stats({
    type: ProfileStats,
    filter: ProfileFilter,
    plural: 'profiles',
    scope: 'profiles:read',
    description: "Statistics of your tenant's profiles.",
  }),
)
