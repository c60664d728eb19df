import { countsOf, groups, numbers, pointsOfScan, rowCount, type Stats } from '@fusion-gateway/pothos-trees'
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
