import type { JobStatus as JobStatusRow } from '../db/generated/prisma/enums.ts'
import { builder } from '../graphql/builder.ts'
import { Node, registerNode } from '../graphql/node.ts'
import { defineOrder } from '../graphql/order.ts'
import { readPageRequest, toConnection } from '../graphql/pagination.ts'
import type { JsonObject } from '../graphql/scalars.ts'
import { countJobs, type JobList, readJobPage } from './job.list.ts'
import type { JobFailure } from './job.store.ts'

const JobStatus = builder.enumType('JobStatus', {
  description: 'Where a job stands.',
  values: {
    PENDING: { description: 'Waits for its turn.' },
    RUNNING: { description: 'Is being worked on.' },
    SUCCEEDED: { description: 'Done; the result is there.' },
    FAILED: { description: 'Given up.' },
    CANCELLED: { description: 'Called off.' },
  } satisfies Record<JobStatusRow, { description: string }>,
})

const JobError = builder.objectRef<JobFailure>('JobError').implement({
  scope: 'inherited',
  description: 'Why an attempt of a job failed.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'What went wrong, in one word: `TIMEOUT`, `LEASE_LOST`.' }),
    message: t.exposeString('message', { description: 'What went wrong, in a sentence.' }),
    attempt: t.exposeInt('attempt', { description: 'Which attempt: 1 for the first.' }),
    at: t.field({ type: 'DateTime', description: 'When.', resolve: ({ at }) => new Date(at) }),
  }),
})

export const Job = builder.prismaObject('Job', {
  scope: 'inherited',
  description: 'Asynchronous work: what was asked, what came of it, how often it was tried.',
  interfaces: [Node],
  fields: (t) => ({
    status: t.expose('status', { type: JobStatus, description: 'Where the job stands.' }),
    jobType: t.exposeString('jobType', { nullable: true, description: 'The kind of work: `fetch_content`, say.' }),
    payload: t.field({
      type: 'JSONObject',
      nullable: true,
      description: 'The input of the work.',
      resolve: ({ payload }) => payload as JsonObject | null,
    }),
    result: t.field({
      type: 'JSONObject',
      nullable: true,
      description: 'The output of the work.',
      resolve: ({ result }) => result as JsonObject | null,
    }),
    attempts: t.exposeInt('attempts', { description: 'How often the work was begun.' }),
    maxAttempts: t.exposeInt('maxAttempts', {
      nullable: true,
      description: 'How often it may be begun. Null for a job that was brought from elsewhere.',
    }),
    error: t.field({
      type: JobError,
      nullable: true,
      description: 'Why the last attempt failed; null when none has, and when the job succeeded after all.',
      resolve: ({ error }) => error as JobFailure | null,
    }),
    progress: t.exposeFloat('progress', {
      nullable: true,
      description: 'How far this attempt has come, from 0 to 1, when its worker reports it.',
    }),
    progressMessage: t.exposeString('progressMessage', {
      nullable: true,
      description: 'Where this attempt stands, in the words of its worker.',
    }),
    runAt: t.expose('runAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'The job does not start before this. Null for one that was brought from elsewhere: nobody works on it.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the present attempt began, or the last one of a job that is finished.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the job succeeded, was given up or was called off.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the job was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the job last changed.' }),
  }),
})

registerNode('Job', 'jobs:read', (id, { loaders }) => loaders.jobById.load(id))

export const JobFilter = builder.inputType('JobFilter', {
  description: 'Which jobs to show. A field that is absent or null does not restrict the list.',
  fields: (t) => ({
    status: t.field({ type: JobStatus, description: 'In this state.' }),
    jobType: t.string({ description: 'Exactly this kind of work.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Made after this time.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Made before this time.' }),
  }),
})

const JobOrder = defineOrder('Job', 'jobs')

builder.queryFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description: 'A job by id; null when the tenant has none with it.',
    args: { id: t.arg.id({ required: true, description: "The job's id." }) },
    resolve: (_, { id }, { loaders }) => loaders.jobById.load(id),
  }),
  jobs: t.connection(
    {
      type: Job,
      scope: 'jobs:read',
      description: "The tenant's jobs, oldest first, page by page.",
      args: {
        filter: t.arg({ type: JobFilter, description: 'Which jobs to show; all when absent.' }),
        orderBy: t.arg({ type: JobOrder, description: 'The order; oldest first when absent.' }),
      },
      resolve: async (_, { filter, orderBy, ...args }, context) => {
        const page = readPageRequest(args)
        const list: JobList = { filter: filter ?? {}, direction: orderBy?.direction ?? 'ASC' }
        return { ...toConnection(page, await readJobPage(context, list, page)), list }
      },
    },
    {
      name: 'JobConnection',
      scope: 'inherited',
      description: "A page of the tenant's jobs.",
      fields: (connection) => ({
        totalCount: connection.int({
          description: 'How many jobs the whole list has. Counted only when asked for.',
          resolve: ({ list }, _, context) => countJobs(context, list.filter),
        }),
      }),
    },
    { name: 'JobEdge', scope: 'inherited', description: 'A job and where it stands in the list.' },
  ),
}))
