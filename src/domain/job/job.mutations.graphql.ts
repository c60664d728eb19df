import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineBulkMutation } from '../../engine/graphql/schema/bulk-mutation.ts'
import { pointsOfScan } from '../../engine/graphql/schema/field-metadata.ts'
import { defineMutation, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Job, JobFilter } from './job.graphql.ts'
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
  report,
  retryJob,
} from './job.service.ts'
import type { BulkTransition } from './store/statements.ts'
import type { JobLease as JobLeaseShape } from './store/transitions.ts'

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
  defineMutation(name, {
    scope: 'jobs:write',
    description: `${description} Jobs that another transaction is changing at this moment are skipped.`,
    inputDescription: `The jobs to ${transition}.`,
    input: (t) => ({
      filter: t.field({
        type: JobFilter.type,
        required: true,
        description: `Selects jobs. \`{}\` selects all that can be ${done}. A state in which a job cannot be ${done} is rejected, and so is a condition that is null or a variable without a value.`,
      }),
      limit: t.int({ description: 'The maximum number of jobs: 1–1,000. 1,000 by default.' }),
    }),
    restrictions: { fields: ['filter'] },
    cost: { extra: pointsOf },
    results: [
      {
        field: `${done}Count`,
        type: 'Int',
        description: `The number of jobs that were ${done}.`,
        value: ({ changedCount }: BulkResult) => changedCount,
      },
      {
        field: 'remainingCount',
        type: 'Int',
        description: `The number of jobs that match and can still be ${done}. They are counted only if requested.`,
        scope: 'jobs:read',
        cost: { extra: () => pointsOfScan },
        value: ({ countRemaining }: BulkResult) => countRemaining(),
      },
    ],
    transaction: false,
    run(context, { filter, limit }) {
      const { status, ...others } = filter
      return changeJobs(context, transition, { status, conditions: JobFilter.conditionsOf(others, context), limit })
    },
  })
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

const createJobMutation = defineMutation('createJob', {
  scope: 'jobs:write',
  description: 'Creates a job.',
  inputDescription: 'The job to create.',
  input: (t) => ({
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
  results: [{ field: 'job', type: Job, description: 'The new job, or the job that has the `idempotencyKey`.' }],
  transaction: false,
  run: createJob,
})

defineBulkMutation('createJobs', createJobMutation, {
  description: 'Creates jobs.',
  inputsDescription: 'The jobs to create',
  run: createJobs,
})

defineMutation('cancelJob', {
  scope: 'jobs:write',
  description: 'Cancels a job that waits or runs. A finished job is rejected with CONFLICT.',
  inputDescription: 'The job to cancel.',
  input: inputWithId('job'),
  results: [{ field: 'job', type: Job, description: 'The cancelled job.', scope: 'jobs:read' }],
  transaction: false,
  run: cancelJob,
})

defineMutation('retryJob', {
  scope: 'jobs:write',
  description:
    'Makes a failed or cancelled job due again, with its remaining attempts, but at least one. A job in another ' +
    'state is rejected with CONFLICT.',
  inputDescription: 'The job to retry.',
  input: inputWithId('job'),
  results: [{ field: 'job', type: Job, description: 'The job.', scope: 'jobs:read' }],
  transaction: false,
  run: retryJob,
})

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

const idDescription = 'The id of the job.'
const tokenDescription = 'The token of the lease. A stale token is rejected with CONFLICT.'
const leaseSecondsDescription = 'The duration of the lease from now: 1–3600 seconds. 60 by default.'
const theJob = { field: 'job', type: Job, description: 'The job.' }

defineMutation('claimJobs', {
  scope: 'jobs:work',
  description: 'Claims due jobs and starts them. No other worker gets them before the lease expires.',
  inputDescription: 'The jobs to claim.',
  input: (t) => ({
    jobTypes: t.stringList({
      required: true,
      description:
        'The types that the worker can handle: at most 50, in any order. Each gets an equal part of the limit, as far as it has due jobs.',
    }),
    limit: t.int({ description: 'The maximum number of jobs: 1–100. 1 by default.' }),
    leaseSeconds: t.int({ description: leaseSecondsDescription }),
  }),
  cost: { page: 'input.limit' },
  results: [{ field: 'leases', type: [JobLease], description: 'The claimed jobs. Empty if none is due.' }],
  transaction: false,
  run: claim,
})

defineMutation('extendJobLease', {
  scope: 'jobs:work',
  description: 'Extends the lease of a job.',
  inputDescription: 'The lease to extend.',
  input: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    leaseSeconds: t.int({ description: leaseSecondsDescription }),
  }),
  results: [{ field: 'lease', type: JobLease, description: 'The extended lease.' }],
  transaction: false,
  run: extend,
})

defineMutation('reportJobProgress', {
  scope: 'jobs:work',
  description: 'Reports the progress of a job to its subscribers.',
  inputDescription: 'The progress.',
  input: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    progress: t.float({ required: true, description: 'The progress from 0 to 1.' }),
    message: t.string({ description: 'What the worker is doing: at most 2,000 characters.' }),
  }),
  results: [theJob],
  transaction: false,
  run: report,
})

defineMutation('completeJob', {
  scope: 'jobs:work',
  description: 'Marks a running job as succeeded.',
  inputDescription: 'The result.',
  input: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    result: t.field({ type: 'JSONObject', description: 'The output of the job.' }),
  }),
  results: [theJob],
  transaction: false,
  run: complete,
})

defineMutation('failJob', {
  scope: 'jobs:work',
  description:
    'Reports that an attempt failed. If the failure is retryable and attempts are left, the job waits for the next one, ' +
    'with a delay that grows each time; otherwise it fails.',
  inputDescription: 'The failure.',
  input: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    code: t.string({ required: true, description: 'The error code: at most 64 characters.' }),
    message: t.string({ required: true, description: 'The error message: at most 2,000 characters.' }),
    retryable: t.boolean({ description: 'Whether another attempt can succeed. True by default.' }),
  }),
  results: [theJob],
  transaction: false,
  run: fail,
})
