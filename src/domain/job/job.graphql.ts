import type { JobStatus as JobStatusRow } from '../../engine/db/generated/prisma/enums.ts'
import { after, before, equal } from '../../engine/db/read/list.ts'
import { byTime } from '../../engine/db/read/order.ts'
import type { SelectedRow } from '../../engine/db/read/relation.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { readPageRequest } from '../../engine/graphql/schema/connection.ts'
import { defineFilter } from '../../engine/graphql/schema/filter.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { defineOrder } from '../../engine/graphql/schema/order.ts'
import { asParent, defineQueryById, loadRow } from '../../engine/graphql/schema/relation-fields.ts'
import type { JsonObject } from '../../engine/graphql/schema/scalars.ts'
import { followJob, followJobs } from './follow-jobs.ts'
import { type JobFailure, jobById, jobIds } from './job.ts'

export const JobStatus = builder.enumType('JobStatus', {
  description: 'The state of a job.',
  values: {
    PENDING: { description: 'The job waits for a worker.' },
    RUNNING: { description: 'A worker runs the job.' },
    SUCCEEDED: { description: 'The job succeeded and has its result.' },
    FAILED: { description: 'The job failed, and no attempt is left.' },
    CANCELLED: { description: 'The job was cancelled.' },
  } satisfies Record<JobStatusRow, { description: string }>,
})

const JobError = builder.objectRef<JobFailure>('JobError').implement({
  scope: 'inherited',
  description: 'Why an attempt of a job failed.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'The error code, such as `TIMEOUT` or `LEASE_LOST`.' }),
    message: t.exposeString('message', { description: 'The error message.' }),
    attempt: t.exposeInt('attempt', { description: 'The number of the attempt, from 1.' }),
    at: t.field({ type: 'DateTime', description: 'The time of the failure.', resolve: ({ at }) => new Date(at) }),
  }),
})

export const Job = builder.prismaObject('Job', {
  scope: 'inherited',
  description: 'Asynchronous work with a payload, a result and attempts.',
  interfaces: [Node],
  fields: (t) => ({
    status: t.expose('status', { type: JobStatus, description: 'The state of the job.' }),
    jobType: t.exposeString('jobType', {
      nullable: true,
      description: 'The type of the job, such as `fetch_content`.',
    }),
    payload: t.field({
      type: 'JSONObject',
      nullable: true,
      description: 'The input of the job.',
      resolve: ({ payload }) => payload as JsonObject | null,
    }),
    result: t.field({
      type: 'JSONObject',
      nullable: true,
      description: 'The output of the job.',
      resolve: ({ result }) => result as JsonObject | null,
    }),
    attempts: t.exposeInt('attempts', { description: 'The number of times the job was started.' }),
    maxAttempts: t.exposeInt('maxAttempts', {
      nullable: true,
      description: 'The maximum number of attempts. Null for an imported job.',
    }),
    error: t.field({
      type: JobError,
      nullable: true,
      description: 'The error of the last failed attempt. Null if no attempt failed or the job succeeded.',
      resolve: ({ error }) => error as JobFailure | null,
    }),
    progress: t.exposeFloat('progress', {
      nullable: true,
      description: 'The progress of this attempt from 0 to 1, if its worker reports it.',
    }),
    progressMessage: t.exposeString('progressMessage', {
      nullable: true,
      description: 'The message that the worker reported with the progress.',
    }),
    runAt: t.expose('runAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The job does not start before this time. Null for an imported job, which no worker runs.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The start of the current attempt, or of the last one if the job is finished.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time when the job succeeded, failed or was cancelled.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})

registerNode('Job', jobIds, 'jobs:read', jobById, { isForUsers: false })

defineQueryById('job', Job, 'jobs:read', jobById)

export const JobFilter = defineFilter('Job', 'jobs', (f) => ({
  status: f.value(JobStatus, { description: 'The state.', where: equal('status') }),
  jobType: f.text({ description: 'The exact type.', where: equal('jobType') }),
  createdAfter: f.time({ description: 'Created after this time.', where: after('createdAt') }),
  createdBefore: f.time({ description: 'Created before this time.', where: before('createdAt') }),
}))

defineList('jobs', {
  model: 'Job',
  type: Job,
  plural: 'jobs',
  scope: 'jobs:read',
  description: "Lists your tenant's jobs.",
  selection: {
    filter: JobFilter,
    order: defineOrder(
      'Job',
      'jobs',
      { CREATED_AT: { description: 'The creation time.', by: (direction) => byTime('createdAt', direction) } },
      { field: 'CREATED_AT', direction: 'ASC' },
    ),
    defaultOrder: 'Oldest first',
  },
})

builder.subscriptionFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description:
      'Sends a job now and after changes, until it is finished; several changes at once are sent as one. Sends null and ends if your tenant has no job with this id.',
    args: { id: t.arg.id({ required: true, description: 'The id of the job.' }) },
    subscribe: (_, args, context) => followJob(context, args),
    resolve: (job: SelectedRow<'Job'> | null, _, { loaders }) => job && loadRow(loaders, jobById, job.id),
  }),
  jobs: t.field({
    type: [Job],
    scope: 'jobs:read',
    description:
      "Sends your tenant's newest jobs, newest first, and then the jobs that change; several changes at once are sent as one. A job that no longer has " +
      'the state of the filter is sent once more.',
    args: {
      filter: t.arg({ type: JobFilter.type, description: 'Selects jobs. All by default.' }),
      first: t.arg.int({ description: 'The number of jobs to send first: 0–500. 20 by default.' }),
    },
    subscribe: (_, { filter, first }, context) => {
      const { status, ...unchanging } = filter ?? {}
      const conditions = JobFilter.conditionsOf(unchanging, context)
      return followJobs(context, {
        status,
        conditions,
        page: readPageRequest({ first }, { name: 'jobs', order: byTime('createdAt', 'DESC') }),
      })
    },
    resolve: (jobs: SelectedRow<'Job'>[]) => jobs.map(asParent<'Job'>),
  }),
}))
