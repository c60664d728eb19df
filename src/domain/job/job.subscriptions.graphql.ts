import type { Job as JobRow } from '../../engine/db/generated/prisma/client.ts'
import { byTime } from '../../engine/db/read/order.ts'
import type { SelectedRow } from '../../engine/db/read/relation.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { readPageRequest } from '../../engine/graphql/schema/connection.ts'
import { asParent } from '../../engine/graphql/schema/rows.ts'
import { followJob, followJobs } from './changes/follow-jobs.ts'
import { Job, JobFilter } from './job.graphql.ts'

builder.subscriptionFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description:
      'Sends a job now and after changes, until it is finished; several changes at once are sent as one. Sends null and ends if your tenant has no job with this id.',
    args: { id: t.arg.id({ required: true, description: 'The id of the job.' }) },
    subscribe: (_, args, context) => followJob(context, args),
    resolve: (job: JobRow | null) => job,
  }),
  jobs: t.field({
    type: [Job],
    scope: 'jobs:read',
    description:
      "Sends your tenant's newest jobs, newest first, and then the jobs that change; several changes at once are sent as one. A job that no longer has " +
      'the state of the filter is sent once more.',
    args: {
      filter: t.arg({ type: JobFilter.type, description: 'Selects jobs. All by default.' }),
      first: t.arg.int({ description: 'The number of jobs to send first: 1–500. 20 by default.' }),
    },
    subscribe: (_, { filter, first }, context) => {
      const { status, ...unchanging } = filter ?? {}
      const conditions = JobFilter.conditionsOf(unchanging, context)
      return followJobs(context, { status, conditions, page: readPageRequest({ first }, byTime('createdAt', 'DESC')) })
    },
    resolve: (jobs: SelectedRow<'Job'>[]) => jobs.map(asParent<'Job'>),
  }),
}))
