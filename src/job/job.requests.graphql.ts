import type { Job as JobRow } from '../db/generated/prisma/client.ts'
import { builder } from '../graphql/builder.ts'
import { defineMutation } from '../graphql/mutation.ts'
import { definePayload } from '../graphql/payload.ts'
import { Job } from './job.graphql.ts'
import { cancelJob, createJob, retryJob } from './job.service.ts'

const CreateJobInput = builder.inputType('CreateJobInput', {
  description: 'Work to be done.',
  fields: (t) => ({
    jobType: t.string({
      required: true,
      description:
        'The kind of work, which says who does it: a letter, then letters, digits, `_`, `-` and `.`; at most 64.',
    }),
    payload: t.field({ type: 'JSONObject', description: 'The input of the work.' }),
    maxAttempts: t.int({ description: 'How often it may be begun before it is given up: 1–100; 3 when absent.' }),
    runAt: t.field({ type: 'DateTime', description: 'Not to start before this; at once when absent.' }),
    idempotencyKey: t.string({
      description: 'A second call with the same key answers the job of the first: 1–128 characters.',
    }),
  }),
})

const CreateJobPayload = definePayload<JobRow>('CreateJobPayload', 'job', Job, 'The new job.')

defineMutation('createJob', {
  payload: CreateJobPayload,
  scope: 'jobs:write',
  description: 'Makes a job and queues it.',
  input: CreateJobInput,
  inputDescription: 'The job.',
  work: createJob,
})

const CancelJobInput = builder.inputType('CancelJobInput', {
  description: 'The job to call off.',
  fields: (t) => ({ id: t.id({ required: true, description: "The job's id." }) }),
})

const CancelJobPayload = definePayload<JobRow>('CancelJobPayload', 'job', Job, 'The job as it is now.', 'jobs:read')

defineMutation('cancelJob', {
  payload: CancelJobPayload,
  scope: 'jobs:write',
  description: 'Calls off a job that waits or runs. A finished one is refused as CONFLICT.',
  input: CancelJobInput,
  inputDescription: 'The job.',
  work: cancelJob,
})

const RetryJobInput = builder.inputType('RetryJobInput', {
  description: 'The job to work on again.',
  fields: (t) => ({ id: t.id({ required: true, description: "The job's id." }) }),
})

const RetryJobPayload = definePayload<JobRow>('RetryJobPayload', 'job', Job, 'The job as it is now.', 'jobs:read')

defineMutation('retryJob', {
  payload: RetryJobPayload,
  scope: 'jobs:write',
  description:
    'Queues a job again that failed or was called off, with the attempts it has left, and one at least. ' +
    'Any other is refused as CONFLICT.',
  input: RetryJobInput,
  inputDescription: 'The job.',
  work: retryJob,
})
