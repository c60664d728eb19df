import type { MarkedTenant } from '../../soak/tenants.ts'
import type { Ledger, SentJob } from '../ledger.ts'
import type { Client } from '../load/client.ts'
import { readPages } from './read-pages.ts'

interface ShownJob {
  readonly id: string
  readonly status: string
  readonly payload: { readonly mark?: string } | null
  readonly result: { readonly mark?: string } | null
}

/** Compares the jobs of a tenant with the ledger, and counts what is found. */
export async function checkJobs(
  client: Client,
  tenant: MarkedTenant,
  { jobs, counts }: Ledger,
  note: (problem: string) => void,
): Promise<void> {
  const shownJobs = await readPages<ShownJob>(client, tenant, 'jobs', 'id status payload result')
  const byMark = Map.groupBy(shownJobs, ({ payload }) => payload?.mark)
  for (const job of jobs.filter((sent) => sent.tenant === tenant)) {
    const found = byMark.get(job.mark) ?? []
    byMark.delete(job.mark)
    counts.jobs.found += found.length
    if (found.length > 1) note(`${job.mark} was sent once and is stored ${found.length} times`)
    if (job.id !== undefined && found[0]?.id !== job.id) note(`${job.id} was acknowledged and is missing`)
    for (const shown of found) {
      if (shown.result?.mark !== job.mark) note(`${shown.id} has the result ${JSON.stringify(shown.result)}`)
      checkResults(job, shown)
    }
  }
  for (const mark of byMark.keys()) note(`a job with the mark ${mark} was never sent`)

  function checkResults({ results }: SentJob, { id, result }: ShownJob): void {
    if (results.length > 1) note(`the completions of ${results.length} workers of ${id} were acknowledged`)
    if (results.length === 0) return
    if (results.includes(JSON.stringify(result))) counts.completions.found += 1
    else note(`the completion ${results[0]} of ${id} was acknowledged, and ${JSON.stringify(result)} is stored`)
  }
}
