import type { Job as JobRow } from '../db/generated/prisma/client.ts'
import { builder } from '../graphql/builder.ts'
import { readPageRequest } from '../graphql/pagination.ts'
import { followJob, followJobs } from './job.follow.ts'
import { Job, JobFilter } from './job.graphql.ts'

builder.subscriptionFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description:
      'A job as it is now, and then after every change. Null, and the end, when the tenant has none with that id.',
    args: { id: t.arg.id({ required: true, description: "The job's id." }) },
    subscribe: (_, args, context) => followJob(context, args),
    resolve: (job: JobRow | null) => job,
  }),
  jobs: t.field({
    type: [Job],
    scope: 'jobs:read',
    description:
      "The tenant's newest jobs as they are now, newest first, and then those that have changed, each time there are " +
      "some. A job that has left the filter's state is shown once more.",
    args: {
      filter: t.arg({ type: JobFilter, description: 'Which jobs to show; all when absent.' }),
      first: t.arg.int({ description: 'How many jobs to begin with: 1–500; 20 when absent.' }),
    },
    subscribe: (_, { filter, first }, context) =>
      followJobs(context, { filter: filter ?? {}, page: readPageRequest({ first }) }),
    resolve: (jobs: JobRow[]) => jobs,
  }),
}))
