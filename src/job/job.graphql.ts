import type { JobStatus as jobStatuses } from '../db/generated/prisma/enums.ts'
import { builder } from '../graphql/builder.ts'
import { Node } from '../graphql/node.ts'
import type { JsonObject } from '../graphql/scalars.ts'

const descriptions: Record<keyof typeof jobStatuses, string> = {
  PENDING: 'Waits for its turn.',
  RUNNING: 'Is being worked on.',
  SUCCEEDED: 'Done; the result is there.',
  FAILED: 'Given up.',
  CANCELLED: 'Called off.',
}

const JobStatus = builder.enumType('JobStatus', {
  description: 'Where a job stands.',
  values: Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [status, { description }]),
  ) as Record<keyof typeof jobStatuses, { description: string }>,
})

const Job = builder.prismaObject('Job', {
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
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the job was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the job last changed.' }),
  }),
})

builder.queryField('job', (t) =>
  t.field({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description: 'A job by id; null when the tenant has none with it.',
    args: { id: t.arg.id({ required: true, description: "The job's id." }) },
    resolve: (_, { id }, { loaders }) => loaders.jobById.load(id),
  }),
)
