import { setTimeout as sleep } from 'node:timers/promises'
import type { MarkedTenant } from '../../soak/tenants.ts'
import { isRow, type Row, type WriterOptions, write } from './write.ts'

const claim = `mutation ($input: ClaimJobsInput!) {
  claimJobs(input: $input) { leases { leaseToken job { id payload attempts } } userErrors { code } } }`
const complete = `mutation ($input: CompleteJobInput!) {
  completeJob(input: $input) { job { id status } userErrors { code } } }`

interface Lease {
  readonly leaseToken: string
  readonly job: {
    readonly id: string
    readonly attempts: number
    readonly payload: { readonly mark: string; readonly milliseconds: number }
  }
}

/** A claim, and how much longer than needed the worker takes. */
interface Claim {
  readonly leaseSeconds: number
  readonly delayMilliseconds: number
  readonly claimedAt: number
}

const idleMilliseconds = 500

/**
 * A job that was started before takes so long that a late worker of the earlier attempt can try to end it meanwhile.
 */
const repeatedMilliseconds = 4_000

/**
 * Runs the tenant's jobs of the type `remote` as a worker in another language does, until the signal aborts. One claim
 * in twenty has a short lease, and its worker is late: its jobs go to others, and what it wants to store must be
 * rejected.
 */
export async function workOverHttp(options: WriterOptions, tenant: MarkedTenant, signal: AbortSignal): Promise<void> {
  const { client, ledger } = options
  const late: Promise<unknown>[] = []
  while (!signal.aborted) {
    const isLate = client.random.below(20) === 0
    const claimed: Claim = {
      leaseSeconds: isLate ? 1 : 15,
      delayMilliseconds: isLate ? 5_000 + client.random.below(15_000) : 0,
      claimedAt: performance.now(),
    }
    const input = { jobTypes: ['remote'], limit: 3, leaseSeconds: claimed.leaseSeconds }
    const { response } = await client.send({
      tenant,
      path: '/graphql',
      body: { query: claim, variables: { input } },
      idempotencyKey: ledger.mark('claim', tenant),
    })
    const { data } = JSON.parse(response?.text ?? '{}') as { data?: { claimJobs?: { leases: Lease[] | null } } }
    const leases = data?.claimJobs?.leases ?? []
    if (leases.length === 0) await sleep(idleMilliseconds)
    const ended = Promise.all(leases.map((lease) => runJob(options, tenant, lease, claimed)))
    if (isLate) late.push(ended)
    else await ended
  }
  await Promise.all(late)
}

interface Completion {
  readonly data?: { readonly completeJob?: { readonly job: Row | null; readonly userErrors: { code: string }[] } }
}

async function runJob(
  options: WriterOptions,
  tenant: MarkedTenant,
  { leaseToken, job }: Lease,
  { leaseSeconds, delayMilliseconds, claimedAt }: Claim,
): Promise<void> {
  const { ledger, note } = options
  const { mark, milliseconds } = job.payload
  await sleep(milliseconds + delayMilliseconds + (job.attempts > 1 ? repeatedMilliseconds : 0))
  const result = { mark, by: leaseToken }
  const call = {
    tenant,
    path: '/graphql',
    idempotencyKey: `complete-${leaseToken}`,
    body: { query: complete, variables: { input: { id: job.id, leaseToken, result } } },
  }
  const row = await write(options, 'completions', call, ({ data }: Completion) => {
    const isConflict = data?.completeJob?.userErrors.some(({ code }) => code === 'CONFLICT')
    return isConflict ? 'rejected' : data?.completeJob?.job
  })
  if (row === 'rejected') {
    const seconds = (performance.now() - claimedAt) / 1_000
    if (seconds < leaseSeconds) note(`${job.id} was taken from its worker ${seconds.toFixed(1)} s after the claim`)
  } else if (isRow(row)) {
    ledger.jobs.find((sent) => sent.mark === mark)?.results.push(JSON.stringify(result))
  }
}
