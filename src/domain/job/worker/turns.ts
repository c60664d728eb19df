import type { Job } from '../../../engine/db/generated/prisma/client.ts'

/**
 * Remembers whom a worker has served: the types in the order in which they are served next, and the tenant
 * that was served last with each of them. The tenants are remembered for each type. With one tenant for all types, the
 * turns of types and tenants could keep step, so that a tenant would never be served with one of the types.
 */
export function createTurns(jobTypes: Iterable<string>) {
  /** By type, the one that has waited longest first. */
  const lastServed = new Map([...jobTypes].map((type) => [type, '']))
  return {
    lastServed: lastServed as ReadonlyMap<string, string>,
    jobTypes: () => [...lastServed.keys()],
    /** Notes jobs that were claimed, in the order in which they were served. */
    note(claimed: readonly Pick<Job, 'jobType' | 'tenantAppId'>[]): void {
      for (const { jobType, tenantAppId } of claimed) {
        if (jobType === null) continue
        // The last entry of a map is the one that was added last.
        lastServed.delete(jobType)
        lastServed.set(jobType, tenantAppId)
      }
    },
  }
}
