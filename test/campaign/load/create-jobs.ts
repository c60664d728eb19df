import type { MarkedTenant } from '../../soak/tenants.ts'
import { jobTypes } from '../ledger.ts'
import { isRow, type Row, type WriterOptions, write } from './write.ts'

const query = `mutation ($input: CreateJobInput!) {
  createJob(input: $input) { job { id jobType payload } userErrors { code } } }`

const maxJobMilliseconds = 300

/** No fault takes so many attempts of one job. */
const maxAttempts = 100

/** Creates jobs until the signal aborts. */
export async function createJobs(options: WriterOptions, tenant: MarkedTenant, signal: AbortSignal): Promise<void> {
  const { client, ledger } = options
  while (!signal.aborted) {
    const job = ledger.createJob(tenant, client.random.pick(jobTypes))
    const payload = { mark: job.mark, milliseconds: client.random.below(maxJobMilliseconds) }
    // The key of the job and the key of the request each make it safe to send the request again. Some have both.
    const withJobKey = client.random.below(2) === 0
    const input = { jobType: job.jobType, payload, maxAttempts, ...(withJobKey && { idempotencyKey: job.mark }) }
    const row = await write(
      options,
      'jobs',
      { tenant, path: '/graphql', body: { query, variables: { input } }, idempotencyKey: `job-${job.mark}` },
      (body: { data?: { createJob?: { job: Row | null } } }) => body.data?.createJob?.job,
    )
    if (isRow(row)) job.id = String(row['id'])
    await client.think()
  }
}
