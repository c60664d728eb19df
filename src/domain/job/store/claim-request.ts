export interface ClaimRequest {
  /** In the order in which they are served. */
  readonly jobTypes: readonly string[]
  readonly limit: number
  readonly leaseSeconds: number
}

export interface WorkerClaim extends ClaimRequest {
  /** The tenant that was served last with each type. */
  readonly lastServed: ReadonlyMap<string, string>
}
