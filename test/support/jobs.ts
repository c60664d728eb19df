import type { TestApp, TestTenant } from './app.ts'

/** A job as the tests read it. */
export interface ShownJob {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly maxAttempts: number | null
  readonly result: object | null
  readonly error: { code: string; message: string; attempt: number } | null
  readonly progress: number | null
  readonly progressMessage: string | null
  readonly runAt: string | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

export const jobFields = `id status attempts maxAttempts result error { code message attempt } progress progressMessage
  runAt startedAt finishedAt`

/** The payload of a mutation of jobs. */
export interface JobResponse {
  readonly job: ShownJob | null
  readonly lease: { leaseToken: string; expiresAt: string; job: ShownJob } | null
  readonly leases: { leaseToken: string; expiresAt: string; job: ShownJob }[] | null
  readonly userErrors: { code: string; field: string[]; message: string }[]
}

const responses: Record<string, string> = {
  claimJobs: `leases { leaseToken expiresAt job { ${jobFields} } }`,
  extendJobLease: `lease { leaseToken expiresAt job { ${jobFields} } }`,
}

/** Calls the mutations of jobs as a client does. */
export function jobClient(app: Pick<TestApp, 'graphql'>, tenant: TestTenant) {
  return async function call(mutation: string, input: Record<string, unknown>): Promise<JobResponse> {
    const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input`
    const response = responses[mutation] ?? `job { ${jobFields} }`
    const { data, errors } = await app.graphql<Record<string, JobResponse>>(
      tenant,
      `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${response} userErrors { code field message } } }`,
      { input },
    )
    if (errors) throw new Error(JSON.stringify(errors))
    return data[mutation] as JobResponse
  }
}

/** The value, which must not be missing. */
export function present<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error('The value is missing')
  return value
}
