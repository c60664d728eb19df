import type { AccountStatus as AccountStatusRow } from '@fusion-gateway/database'
import { countsOf, groups, keyedGroups, pointsOfScan, rowCount, type Stats } from '@fusion-gateway/pothos-trees'
import { AccountStatus } from '../account/account.graphql.ts'
import { accountsOfUser } from '../account/account.ts'
import { builder } from '../builder.ts'
import { UserFilter } from '../user/user.graphql.ts'

interface StatusCount {
  readonly status: AccountStatusRow
  readonly count: number
}

export const AccountStatusCount = builder.objectRef<StatusCount>('AccountStatusCount').implement({
  scope: 'inherited',
  description: 'How many objects have an account in a state.',
  fields: (t) => ({
    status: t.expose('status', { type: AccountStatus, description: 'The state.' }),
    count: t.exposeInt('count', { description: 'The number of objects.' }),
  }),
})

/** The states in the order of their frequency. */
export async function statusesOf(load: Stats, part: Parameters<typeof countsOf>[1]): Promise<StatusCount[]> {
  return (await countsOf(load, part)).map(([status, count]) => ({ status: status as AccountStatusRow, count }))
}

const byAccount = (field: string) => (limit: number) =>
  ({ of: 'related values', relation: accountsOfUser, from: 'id', field, limit }) as const

const UserStats = builder.objectRef<Stats>('UserStats').implement({
  scope: 'inherited',
  description: 'Statistics of users.',
  fields: (t) => ({
    count: rowCount(t, 'The number of users.'),
    platforms: groups(
      t,
      'The number of users with an account on each platform. A user with accounts on two platforms counts for both.',
      byAccount('platform'),
    ),
    statuses: t.field({
      type: [AccountStatusCount],
      description:
        'The number of users with an account in each state. A user with accounts in two states counts for both.',
      cost: { extra: () => pointsOfScan },
      resolve: (load) => statusesOf(load, byAccount('status')),
    }),
    groups: keyedGroups(t, {
      name: 'User',
      plural: 'users',
      by: {
        CREATED_DAY: {
          field: 'createdDay',
          type: 'Date',
          description: 'The day of the creation, in UTC.',
          key: { start: 'day', of: ['createdAt'] },
        },
        CREATED_MONTH: {
          field: 'createdMonth',
          type: 'Date',
          description: 'The first day of the month of the creation, in UTC.',
          key: { start: 'month', of: ['createdAt'] },
        },
        ACCOUNTS: {
          field: 'accounts',
          type: 'Int',
          description: 'The number of accounts.',
          key: { relation: accountsOfUser, from: 'id' },
          decode: Number,
        },
      },
      numbers: {},
    }),
  }),
})

builder.queryField('userStats', (t) =>
  t.stats({
    type: UserStats,
    filter: UserFilter,
    plural: 'users',
    scope: 'users:read',
    description: "Statistics of your tenant's users.",
  }),
)
