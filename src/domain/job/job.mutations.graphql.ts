import { defineMutation, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Job } from './job.graphql.ts'
import { cancelJob, createJob, retryJob } from './job.service.ts'

defineMutation('createJob', {
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
  hasOneWrite: true,
  run: createJob,
})

defineMutation('cancelJob', {
  scope: 'jobs:write',
  description: 'Cancels a job that waits or runs. A finished job is rejected with CONFLICT.',
  inputDescription: 'The job to cancel.',
  input: inputWithId('job'),
  results: [{ field: 'job', type: Job, description: 'The cancelled job.', scope: 'jobs:read' }],
  hasOneWrite: true,
  run: cancelJob,
})

defineMutation('retryJob', {
  scope: 'jobs:write',
  description:
    'Makes a failed or cancelled job due again, with the attempts that it has left and at least one. A job in another ' +
    'state is rejected with CONFLICT.',
  inputDescription: 'The job to retry.',
  input: inputWithId('job'),
  results: [{ field: 'job', type: Job, description: 'The job.', scope: 'jobs:read' }],
  hasOneWrite: true,
  run: retryJob,
})
