import type { Job as JobRow, JobStatus as JobStatusRow } from '@fusion-gateway/database'
import type { JsonObject } from '@fusion-gateway/pothos-trees'
import {
  equalTo,
  type InputFields,
  inputWithId,
  type OutputFields,
  oneOf,
  pointsOfScan,
  readPageRequest,
} from '@fusion-gateway/pothos-trees'
import { asParent, newestFirst, type SelectedRow } from '@fusion-gateway/prisma-trees'
import { builder } from '../builder.ts'
import { defineLive, replacedByLive } from '../event/live.graphql.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { bulkInput, maxBulk } from './job.input.ts'
import {
  type BulkResult,
  cancelJob,
  changeJobs,
  claim,
  complete,
  createJob,
  createJobs,
  extend,
  fail,
  followJobs,
  isJobFinished,
  report,
  retryJob,
} from './job.service.ts'
import { type JobFailure, jobById, jobIds } from './job.ts'
import type { BulkTransition } from './store/statements.ts'
import type { JobLease as JobLeaseShape } from './store/transitions.ts'

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

const Job = builder.prismaObject('Job', {
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

builder.queryField('job', (t) =>
  t.prismaField({
    type: Job,
    nullable: true,
    scope: 'jobs:read',
    description: 'Returns the job with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the job.' }) },
    root: { model: 'Job', ids: 'id' },
    resolve: (query, _root, { id }, { db }) => db.job.findFirst({ ...query, where: { id } }),
  }),
)

export const JobFilter = builder.filter('Job', {
  plural: 'jobs',
  fields: (t) => ({
    ids: t.idList({ description: 'The job has one of these ids.', where: oneOf('id') }),
    status: t.enum(JobStatus, { description: 'The state.', where: equalTo('status') }),
    statuses: t.enumList(JobStatus, { description: 'One of these states.', isScan: true, where: oneOf('status') }),
    jobType: t.string({ description: 'The exact type.', where: equalTo('jobType') }),
    jobTypes: t.stringList({ description: 'One of these exact types.', isScan: true, where: oneOf('jobType') }),
    createdAfter: t.time({ description: 'Created after this time.', where: (gt) => ({ createdAt: { gt } }) }),
    createdBefore: t.time({ description: 'Created before this time.', where: (lt) => ({ createdAt: { lt } }) }),
    ...t.logic(),
  }),
})

const jobs = builder.list(Job, {
  plural: 'jobs',
  filter: JobFilter,
  order: builder.order('Job', {
    plural: 'jobs',
    fields: { CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) } },
    byDefault: { field: 'CREATED_AT', direction: 'ASC', description: 'Oldest first' },
  }),
})

builder.queryField('jobs', (t) => t.list(jobs, { scope: 'jobs:read', description: "Lists your tenant's jobs." }))

defineLive('job', {
  type: Job,
  scope: 'jobs:read',
  relation: jobById,
  follows: 'the job',
  end: { when: 'it is finished', isReached: isJobFinished },
})

builder.subscriptionFields((t) => ({
  jobs: t.field({
    type: [Job],
    scope: 'jobs:read',
    description:
      "Sends your tenant's newest jobs, newest first, and then the jobs that change; several changes at once are sent as one. A job that no longer has " +
      'the state of the filter (`status`, `statuses`) is sent once more.',
    deprecation: replacedByLive('`query @live { jobs … }`, or the subscription `events`'),
    args: {
      filter: t.arg({ type: JobFilter.type, description: 'Selects jobs. All by default.' }),
      first: t.arg.int({ description: 'The number of jobs to send first: 0–500. 20 by default.' }),
    },
    subscribe: (_, { filter, first }, context) => {
      const { status, statuses, ...others } = filter ?? {}
      return followJobs(context, {
        states: statesOf(status, statuses),
        ofNewest: JobFilter.whereOf(filter ?? {}, context),
        where: JobFilter.checkedWhereOf(others, context),
        page: readPageRequest({ first }, { name: 'jobs', order: newestFirst }),
      })
    },
    resolve: (sent: SelectedRow<'Job'>[]) => sent.map(asParent<'Job'>),
  }),
}))

/** The states that a filter selects; undefined if it selects all. */
function statesOf(status: JobStatusRow | null | undefined, statuses: readonly JobStatusRow[] | null | undefined) {
  if (status == null) return statuses ?? undefined
  return statuses == null || statuses.includes(status) ? [status] : []
}

/** The points of a bulk action: one for each job that it may change, and those of the search for them. */
function pointsOf({ input }: Readonly<Record<string, unknown>>): number {
  const { data } = bulkInput.safeParse(input)
  return pointsOfScan + (data?.limit ?? maxBulk)
}

interface BulkAction {
  readonly transition: BulkTransition
  readonly description: string
  /** What the action has done with a job: `cancelled`. */
  readonly done: string
}

function defineBulkAction(name: string, { transition, description, done }: BulkAction): void {
  builder.writeField(
    name,
    {
      description: `The jobs to ${transition}.`,
      inputFields: (t) => ({
        filter: t.field({
          type: JobFilter.type,
          required: true,
          description: `Selects jobs. \`{}\` selects all that can be ${done}. A state in which a job cannot be ${done} is rejected, and so is a condition that is null or a variable without a value.`,
        }),
        limit: t.int({ description: 'The maximum number of jobs: 1–1,000. 1,000 by default.' }),
      }),
    },
    {
      scope: 'jobs:write',
      description: `${description} Jobs that another transaction is changing at this moment are skipped.`,
      restrictions: { fields: ['filter'] },
      cost: { extra: pointsOf },
      transaction: false,
      resolve(_root, { input: { filter, limit } }, context) {
        const { status, statuses } = filter
        const where = JobFilter.whereOf(filter, context)
        return changeJobs(context, transition, { status, statuses, where, limit })
      },
    },
    {
      outputFields: (t) => ({
        [`${done}Count`]: t.field({
          type: 'Int',
          description: `The number of jobs that were ${done}.`,
          resolve: ({ changedCount }: BulkResult) => changedCount,
        }),
        remainingCount: t.field({
          type: 'Int',
          description: `The number of jobs that match and can still be ${done}. They are counted only if requested.`,
          scope: 'jobs:read',
          cost: { extra: () => pointsOfScan },
          resolve: ({ countRemaining }: BulkResult) => countRemaining(),
        }),
      }),
    },
  )
}

defineBulkAction('cancelJobs', {
  transition: 'cancel',
  description: 'Cancels the oldest jobs that match a filter and wait or run.',
  done: 'cancelled',
})

defineBulkAction('retryJobs', {
  transition: 'retry',
  description:
    'Makes the oldest failed or cancelled jobs that match a filter due again, each with its remaining attempts, but at least one.',
  done: 'retried',
})

const createJobField = builder.writeField(
  'createJob',
  {
    description: 'The job to create.',
    inputFields: (t) => ({
      jobType: t.string({
        required: true,
        description:
          'The type, which selects the handler: a letter, then letters, digits, `_`, `-` and `.`; at most 64 characters.',
      }),
      payload: t.field({ type: 'JSONObject', description: 'The input of the job.' }),
      maxAttempts: t.int({ description: 'The maximum number of attempts: 1–100. 3 by default.' }),
      runAt: t.field({ type: 'DateTime', description: 'The job does not start before this time. Now by default.' }),
      idempotencyKey: t.string({
        description: 'A second call with the same key returns the job of the first call: 1–128 characters.',
      }),
    }),
  },
  {
    scope: 'jobs:write',
    description: 'Creates a job.',
    transaction: false,
    resolve: (_root, { input }, context) => createJob(context, input),
  },
  {
    outputFields: (t) => ({
      job: t.field({
        type: Job,
        description: 'The new job, or the job that has the `idempotencyKey`.',
        resolve: (job) => job,
      }),
    }),
  },
)

builder.bulkWriteField('createJobs', createJobField, {
  description: 'Creates jobs.',
  inputsDescription: 'The jobs to create',
  resolve: (_root, { inputs }, context) => createJobs(context, inputs),
})

builder.writeField(
  'cancelJob',
  { description: 'The job to cancel.', inputFields: inputWithId('job') },
  {
    scope: 'jobs:write',
    description: 'Cancels a job that waits or runs. A finished job is rejected with CONFLICT.',
    transaction: false,
    resolve: (_root, { input }, context) => cancelJob(context, input),
  },
  {
    outputFields: (t) => ({
      job: t.field({ type: Job, description: 'The cancelled job.', scope: 'jobs:read', resolve: (job) => job }),
    }),
  },
)

builder.writeField(
  'retryJob',
  { description: 'The job to retry.', inputFields: inputWithId('job') },
  {
    scope: 'jobs:write',
    description:
      'Makes a failed or cancelled job due again, with its remaining attempts, but at least one. A job in another ' +
      'state is rejected with CONFLICT.',
    transaction: false,
    resolve: (_root, { input }, context) => retryJob(context, input),
  },
  {
    outputFields: (t) => ({
      job: t.field({ type: Job, description: 'The job.', scope: 'jobs:read', resolve: (job) => job }),
    }),
  },
)

// The mutations of workers outside of this process.

const JobLease = builder.objectRef<JobLeaseShape>('JobLease').implement({
  scope: 'inherited',
  description: 'A job that a worker holds. When the lease expires, the attempt fails with `LEASE_LOST`.',
  fields: (t) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }),
    leaseToken: t.exposeString('leaseToken', {
      description: 'Proves that the worker holds the job. Each start of the job has its own token.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time when the lease expires.' }),
  }),
})

/** The fields by which a worker names the job that it holds. */
const heldJob = (t: InputFields) => ({
  ...inputWithId('job')(t),
  leaseToken: t.string({
    required: true,
    description: 'The token of the lease. A stale token is rejected with CONFLICT.',
  }),
})
const leaseSecondsDescription = 'The duration of the lease from now: 1–3600 seconds. 60 by default.'
const outputJob = {
  outputFields: (t: OutputFields<JobRow>) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: (job) => job }),
  }),
}

builder.writeField(
  'claimJobs',
  {
    description: 'The jobs to claim.',
    inputFields: (t) => ({
      jobTypes: t.stringList({
        required: true,
        description:
          'The types that the worker can handle: at most 50, in any order. Each gets an equal part of the limit, as far as it has due jobs.',
      }),
      limit: t.int({ description: 'The maximum number of jobs: 1–100. 1 by default.' }),
      leaseSeconds: t.int({ description: leaseSecondsDescription }),
    }),
  },
  {
    scope: 'jobs:work',
    description: 'Claims due jobs and starts them. No other worker gets them before the lease expires.',
    cost: { page: 'input.limit' },
    transaction: false,
    resolve: (_root, { input }, context) => claim(context, input),
  },
  {
    outputFields: (t) => ({
      leases: t.field({
        type: [JobLease],
        description: 'The claimed jobs. Empty if none is due.',
        resolve: (leases) => leases,
      }),
    }),
  },
)

builder.writeField(
  'extendJobLease',
  {
    description: 'The lease to extend.',
    inputFields: (t) => ({
      ...heldJob(t),
      leaseSeconds: t.int({ description: leaseSecondsDescription }),
    }),
  },
  {
    scope: 'jobs:work',
    description: 'Extends the lease of a job.',
    transaction: false,
    resolve: (_root, { input }, context) => extend(context, input),
  },
  {
    outputFields: (t) => ({
      lease: t.field({ type: JobLease, description: 'The extended lease.', resolve: (lease) => lease }),
    }),
  },
)

builder.writeField(
  'reportJobProgress',
  {
    description: 'The progress.',
    inputFields: (t) => ({
      ...heldJob(t),
      progress: t.float({ required: true, description: 'The progress from 0 to 1.' }),
      message: t.string({ description: 'What the worker is doing: at most 2,000 characters.' }),
    }),
  },
  {
    scope: 'jobs:work',
    description: 'Reports the progress of a job to its subscribers.',
    transaction: false,
    resolve: (_root, { input }, context) => report(context, input),
  },
  outputJob,
)

builder.writeField(
  'completeJob',
  {
    description: 'The result.',
    inputFields: (t) => ({
      ...heldJob(t),
      result: t.field({ type: 'JSONObject', description: 'The output of the job.' }),
    }),
  },
  {
    scope: 'jobs:work',
    description: 'Marks a running job as succeeded.',
    transaction: false,
    resolve: (_root, { input }, context) => complete(context, input),
  },
  outputJob,
)

builder.writeField(
  'failJob',
  {
    description: 'The failure.',
    inputFields: (t) => ({
      ...heldJob(t),
      code: t.string({ required: true, description: 'The error code: at most 64 characters.' }),
      message: t.string({ required: true, description: 'The error message: at most 2,000 characters.' }),
      retryable: t.boolean({ description: 'Whether another attempt can succeed. True by default.' }),
    }),
  },
  {
    scope: 'jobs:work',
    description:
      'Reports that an attempt failed. If the failure is retryable and attempts are left, the job waits for the next one, ' +
      'with a delay that grows each time; otherwise it fails.',
    transaction: false,
    resolve: (_root, { input }, context) => fail(context, input),
  },
  outputJob,
)
