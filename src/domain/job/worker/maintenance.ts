import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { Failure, JobStore } from '../store/job-store.ts'

export interface MaintenanceOptions {
  readonly jobs: JobStore
  /** Further maintenance. Called at the start and every ten minutes. */
  readonly tidyUp?: () => Promise<void>
  readonly log: Logger
  /** How long a finished job is kept; 0 keeps it forever. */
  readonly retentionDays: number
  /** How often expired leases are looked for. */
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
 * Starts the maintenance: it fails attempts whose lease has expired, and removes old rows. Any number of
 * processes may run it.
 *
 * @returns stops it, and resolves when it has stopped
 */
export function startMaintenance(options: MaintenanceOptions): () => Promise<void> {
  const { jobs, log, retentionDays, intervalMilliseconds = 5_000 } = options
  const stopping = new AbortController()
  const stopped = run()

  async function run(): Promise<void> {
    let nextRetention = 0
    while (!stopping.signal.aborted) {
      try {
        await jobs.failExpired(leaseLost)
        if (performance.now() >= nextRetention) {
          nextRetention = performance.now() + retentionIntervalMilliseconds
          if (retentionDays > 0) await jobs.removeFinished(retentionDays)
          await options.tidyUp?.()
        }
      } catch (error) {
        log.warn({ err: error }, 'the maintenance failed; it is tried again')
      }
      await sleep(intervalMilliseconds, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }

  return () => {
    stopping.abort()
    return stopped
  }
}
