import { keyedGroups, rowCount, type Stats } from '@fusion-gateway/pothos-trees'
import { builder } from '../builder.ts'
import { JobFilter, JobStatus } from '../job/job.graphql.ts'

const JobStats = builder.objectRef<Stats>('JobStats').implement({
  scope: 'inherited',
  description: 'Statistics of jobs.',
  fields: (t) => ({
    count: rowCount(t, 'The number of jobs.'),
    groups: keyedGroups(t, {
      name: 'Job',
      plural: 'jobs',
      by: {
        STATUS: { field: 'status', type: JobStatus, description: 'The state.', key: { field: 'status' } },
        JOB_TYPE: { field: 'jobType', type: 'String', description: 'The type.', key: { field: 'jobType' } },
        CREATED_HOUR: {
          field: 'createdHour',
          type: 'DateTime',
          description: 'The start of the hour of the creation.',
          key: { start: 'hour', of: ['createdAt'] },
        },
      },
      numbers: {
        duration: {
          of: { from: 'startedAt', to: 'finishedAt' },
          description: 'How long the last attempts of finished jobs took, in milliseconds.',
        },
      },
    }),
  }),
})

builder.queryField('jobStats', (t) =>
  t.stats({
    type: JobStats,
    filter: JobFilter,
    plural: 'jobs',
    scope: 'jobs:read',
    description: "Statistics of your tenant's jobs.",
  }),
)
