/** A statement that may read several partitions. */
export interface Exception {
  readonly name: string
  /** Whether a statement is this one. */
  readonly matches: RegExp
  /** Why no row can reach another tenant. */
  readonly reason: string
}

/** The statements that serve all tenants at once. A statement of a request is never one of them. */
export const exceptions: readonly Exception[] = [
  {
    name: "a worker's claim of jobs of all tenants",
    matches: /WITH RECURSIVE tenant \(id\)/,
    reason: 'Only the operator starts a worker. It hands each job to a handler together with the tenant of the job.',
  },
  {
    name: 'maintenance: expired leases',
    matches: /UPDATE job SET\s+status = .* lease_expires_at < now\(\)/s,
    reason: 'It ends attempts whose worker is gone, and returns only their number.',
  },
  {
    name: 'maintenance: retention of jobs',
    matches: /DELETE FROM job .* finished_at < now\(\)/s,
    reason: 'It deletes by age, and returns only the number of jobs.',
  },
  {
    name: 'maintenance: retention of stored responses',
    matches: /DELETE FROM idempotent_answer .* created_at < now\(\)/s,
    reason: 'It deletes by age, and returns only the number of responses.',
  },
]
