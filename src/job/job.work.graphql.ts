import type { Job as JobRow } from '../db/generated/prisma/client.ts'
import { builder } from '../graphql/builder.ts'
import { defineMutation } from '../graphql/mutation.ts'
import { definePayload } from '../graphql/payload.ts'
import { Job } from './job.graphql.ts'
import type { JobLease as JobLeaseShape } from './job.lease.ts'
import { claim, complete, extend, fail, report } from './job.work.ts'

const JobLease = builder.objectRef<JobLeaseShape>('JobLease').implement({
  scope: 'inherited',
  description: 'A job that a worker holds. When the lease runs out, the job waits for another worker.',
  fields: (t) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }),
    leaseToken: t.exposeString('leaseToken', {
      description: 'What the worker must show to change the job. With every start there is another.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the lease runs out.' }),
  }),
})

const idDescription = "The job's id."
const tokenDescription = 'The token of the lease. A stale one is refused as CONFLICT, and changes nothing.'
const leaseSecondsDescription = 'How long the lease lasts from now: 1–3600 seconds; 60 when absent.'

const ClaimJobsInput = builder.inputType('ClaimJobsInput', {
  description: 'Which jobs to work on.',
  fields: (t) => ({
    jobTypes: t.stringList({
      required: true,
      description: 'The kinds of work that the worker can do, at most 50. The first comes first.',
    }),
    limit: t.int({ description: 'How many jobs at most: 1–100; 1 when absent.' }),
    leaseSeconds: t.int({ description: leaseSecondsDescription }),
  }),
})

const ClaimJobsPayload = definePayload<JobLeaseShape[]>(
  'ClaimJobsPayload',
  'leases',
  [JobLease],
  'The jobs that are now held, and started; empty when none is due.',
)

defineMutation('claimJobs', {
  payload: ClaimJobsPayload,
  scope: 'jobs:work',
  description: 'Takes jobs that are due and starts them. Nobody else gets them while the lease lasts.',
  input: ClaimJobsInput,
  inputDescription: 'Which jobs.',
  work: claim,
})

const ExtendJobLeaseInput = builder.inputType('ExtendJobLeaseInput', {
  description: 'The lease to extend.',
  fields: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    leaseSeconds: t.int({ description: leaseSecondsDescription }),
  }),
})

const ExtendJobLeasePayload = definePayload<JobLeaseShape>(
  'ExtendJobLeasePayload',
  'lease',
  JobLease,
  'The lease as it is now.',
)

defineMutation('extendJobLease', {
  payload: ExtendJobLeasePayload,
  scope: 'jobs:work',
  description: 'Holds a job for longer.',
  input: ExtendJobLeaseInput,
  inputDescription: 'The lease.',
  work: extend,
})

const ReportJobProgressInput = builder.inputType('ReportJobProgressInput', {
  description: 'How far a job has come.',
  fields: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    progress: t.float({ required: true, description: 'From 0 to 1.' }),
    message: t.string({ description: 'Where the work stands, in words: at most 2,000 characters.' }),
  }),
})

const jobAsItIs = 'The job as it is now.'

const ReportJobProgressPayload = definePayload<JobRow>('ReportJobProgressPayload', 'job', Job, jobAsItIs)

defineMutation('reportJobProgress', {
  payload: ReportJobProgressPayload,
  scope: 'jobs:work',
  description: 'Tells those who follow a job how far it has come.',
  input: ReportJobProgressInput,
  inputDescription: 'The progress.',
  work: report,
})

const CompleteJobInput = builder.inputType('CompleteJobInput', {
  description: 'What came of a job.',
  fields: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    result: t.field({ type: 'JSONObject', description: 'The output of the work.' }),
  }),
})

const CompleteJobPayload = definePayload<JobRow>('CompleteJobPayload', 'job', Job, jobAsItIs)

defineMutation('completeJob', {
  payload: CompleteJobPayload,
  scope: 'jobs:work',
  description: 'Ends a job that succeeded.',
  input: CompleteJobInput,
  inputDescription: 'The result.',
  work: complete,
})

const FailJobInput = builder.inputType('FailJobInput', {
  description: 'Why an attempt of a job failed.',
  fields: (t) => ({
    id: t.id({ required: true, description: idDescription }),
    leaseToken: t.string({ required: true, description: tokenDescription }),
    code: t.string({ required: true, description: 'What went wrong, in one word: at most 64 characters.' }),
    message: t.string({ required: true, description: 'What went wrong, in a sentence: at most 2,000 characters.' }),
    retryable: t.boolean({ description: 'Whether another attempt makes sense; true when absent.' }),
  }),
})

const FailJobPayload = definePayload<JobRow>('FailJobPayload', 'job', Job, jobAsItIs)

defineMutation('failJob', {
  payload: FailJobPayload,
  scope: 'jobs:work',
  description:
    'Ends an attempt that failed. The job waits for another, ever longer, while attempts are left; then it is given up.',
  input: FailJobInput,
  inputDescription: 'What went wrong.',
  work: fail,
})
