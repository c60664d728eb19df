import type { JobStatus as JobStatusRow } from '@fusion-gateway/database'
import { pointsOfScan } from '@fusion-gateway/pothos-trees'
import type { Model } from '@fusion-gateway/prisma-trees'
import { builder } from '../builder.ts'
import { JobStatus } from '../job/job.graphql.ts'

interface Count {
  readonly value: string
  readonly count: number
}

const PlatformCount = builder.objectRef<Count>('PlatformCount').implement({
  scope: 'inherited',
  description: 'The number of accounts on a platform.',
  fields: (t) => ({
    platform: t.exposeString('value', { description: 'The platform in upper case.' }),
    count: t.exposeInt('count', { description: 'The number of accounts.' }),
  }),
})

const JobStatusCount = builder.objectRef<Count>('JobStatusCount').implement({
  scope: 'inherited',
  description: 'The number of jobs in a state.',
  fields: (t) => ({
    status: t.field({ type: JobStatus, description: 'The state.', resolve: ({ value }) => value as JobStatusRow }),
    count: t.exposeInt('count', { description: 'The number of jobs.' }),
  }),
})

const cost = { extra: () => pointsOfScan }

const TenantStats = builder.objectRef<object>('TenantStats').implement({
  scope: 'inherited',
  description: 'Statistics about your tenant. Each field is counted only if requested, with a separate statement.',
  fields: (t) => {
    const countOf = (model: Model, description: string) =>
      t.int({ description, cost, resolve: (_stats, _args, { loaders }) => loaders.count(model, []) })
    return {
      users: countOf('User', 'The number of users.'),
      accounts: countOf('Account', 'The number of accounts.'),
      profiles: countOf('Profile', 'The number of profiles.'),
      accountsByPlatform: t.field({
        type: [PlatformCount],
        description: 'The number of accounts on each platform, the largest first.',
        cost,
        resolve: async (_stats, _args, { loaders }) => [...(await loaders.countBy('Account', 'platform'))],
      }),
      jobsByStatus: t.field({
        type: [JobStatusCount],
        scope: 'jobs:read',
        isMasked: true,
        description: 'The number of jobs in each state, the largest first. States without jobs are left out.',
        cost,
        resolve: async (_stats, _args, { loaders }) => [...(await loaders.countBy('Job', 'status'))],
      }),
    }
  },
})

builder.queryField('tenantStats', (t) =>
  t.field({
    type: TenantStats,
    scope: 'users:read',
    description: 'Returns statistics about your tenant.',
    resolve: () => ({}),
  }),
)
