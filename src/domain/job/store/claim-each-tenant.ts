import type { Job } from '../../../engine/db/generated/prisma/client.ts'
import type { ClaimRequest, WorkerClaim } from './claim-request.ts'

/** Jobs of a type wait for a worker. */
interface Queue {
  readonly jobType: string
  readonly tenantAppId: string
}

/**
 * Claims jobs of several tenants whose rows are on several servers: with one statement for each queue. The jobs of each
 * type get their share first, and then those that have more get what is left, as in the statement that claims jobs of
 * all tenants of one server.
 *
 * @param queues those with due jobs
 * @param share of each type
 * @returns the jobs in the order of the types, and of the tenants after the one that was served last with the type
 */
export async function claimEachTenant(
  queues: readonly Queue[],
  { jobTypes, limit, leaseSeconds, lastServed }: WorkerClaim,
  share: number,
  claim: (tenantAppId: string, request: ClaimRequest) => Promise<Job[]>,
): Promise<Job[]> {
  const claimed = new Map<string, Job[]>(jobTypes.map((type) => [type, []]))
  const waiting = new Map(jobTypes.map((type) => [type, inTurn(queues, type, lastServed.get(type) ?? '')]))
  let left = limit
  for (const most of [share, limit]) {
    for (const [type, jobs] of claimed) {
      const tenants = waiting.get(type) ?? []
      for (const tenantAppId of [...tenants]) {
        const wanted = Math.min(most - jobs.length, left)
        if (wanted <= 0) break
        const got = await claim(tenantAppId, { jobTypes: [type], limit: wanted, leaseSeconds })
        jobs.push(...got)
        left -= got.length
        if (got.length < wanted) tenants.shift()
      }
    }
  }
  return [...claimed.values()].flat()
}

/** The tenants with jobs of a type, those after one first. */
function inTurn(queues: readonly Queue[], type: string, last: string): string[] {
  const tenants = queues.filter(({ jobType }) => jobType === type).map(({ tenantAppId }) => tenantAppId)
  const sorted = tenants.sort()
  return [...sorted.filter((tenant) => tenant > last), ...sorted.filter((tenant) => tenant <= last)]
}
