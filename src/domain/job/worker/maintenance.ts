import { repeat } from '../../../engine/repeat.ts'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { JobStore } from '../store/job-store.ts'
import type { Failure } from '../store/transitions.ts'

export interface MaintenanceOptions {
  readonly jobs: JobStore
  /** Erases what still names users who were deleted. Called at each interval. */
  readonly erase?: () => Promise<void>
  /** Further maintenance. Called at the start and every ten minutes. */
  readonly tidyUp?: () => Promise<void>
  readonly log: Logger
  /** How long a finished job is kept; 0 keeps it forever. */
  readonly retentionDays: number
  /** How often expired leases and deleted users are looked for. */
  readonly intervalMilliseconds?: number
}

const retentionIntervalMilliseconds = 10 * 60_000

/** The failure of an attempt whose worker has stopped extending the lease. */
export const leaseLost: Failure = {
  code: 'LEASE_LOST',
  message: 'The worker stopped extending the lease.',
  isRetryable: true,
}

/**
 * Starts the maintenance: it fails attempts whose lease has expired, erases what names deleted users, and removes old
 * rows. Any number of processes may run it.
 *
 * @returns stops it, and resolves when it has stopped
 */
export function startMaintenance(options: MaintenanceOptions): () => Promise<void> {
  const { jobs, log, retentionDays, intervalMilliseconds = 5_000 } = options
  const stopping = new AbortController()
  const { signal } = stopping

  const keepDoing = (work: () => Promise<unknown>, milliseconds = intervalMilliseconds) =>
    repeat(() => work().then(() => milliseconds), {
      signal,
      onError(error) {
        log.warn({ err: error }, 'the maintenance failed; it is tried again')
        return intervalMilliseconds
      },
    })

  async function removeOld(): Promise<void> {
    if (retentionDays > 0) await jobs.removeFinished(retentionDays)
    await options.tidyUp?.()
  }

  // A search for deleted users can take a while, and must not delay the jobs of workers that are gone.
  const stopped = Promise.all([
    keepDoing(() => jobs.failExpired(leaseLost)),
    keepDoing(async () => options.erase?.()),
    keepDoing(removeOld, retentionIntervalMilliseconds),
  ])

  return async () => {
    stopping.abort()
    await stopped
  }
}
