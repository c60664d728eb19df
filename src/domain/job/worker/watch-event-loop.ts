import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { RunningJob } from './run-job.ts'

/** A job in the log. */
export interface LoggedJob {
  readonly id: string
  readonly jobType: string | null
}

export function loggedJob({ lease: { job } }: Pick<RunningJob, 'lease'>): LoggedJob {
  return { id: job.id, jobType: job.jobType }
}

interface WatchOptions {
  readonly leaseSeconds: number
  readonly log: Logger
}

/**
 * Watches the event loop, and warns with the jobs that ran when it was blocked for so long that their leases could not
 * be extended. Then another worker may run them again, and what these handlers return is lost.
 */
export function watchEventLoop({ leaseSeconds, log }: WatchOptions) {
  // Leases are extended three times in their duration.
  const maxBlockedMilliseconds = (leaseSeconds * 1_000) / 3
  const intervalMilliseconds = maxBlockedMilliseconds / 4
  const running = new Set<RunningJob>()
  // A handler that blocks can also return before the timer is called.
  const ended = new Set<RunningJob>()
  let checkedAt = performance.now()

  const timer = setInterval(() => {
    const now = performance.now()
    const blocked = now - checkedAt - intervalMilliseconds
    checkedAt = now
    const jobs = [...running, ...ended].map(loggedJob)
    ended.clear()
    if (blocked < maxBlockedMilliseconds || jobs.length === 0) return
    const blockedSeconds = Math.round(blocked / 100) / 10
    log.warn(
      { jobs, blockedSeconds, leaseSeconds },
      'a handler of one of these jobs blocked the event loop, so no lease could be extended: see "Handlers that block" in docs/jobs.md',
    )
  }, intervalMilliseconds)

  return {
    add(job: RunningJob): void {
      running.add(job)
      void job.ended.finally(() => {
        running.delete(job)
        ended.add(job)
      })
    },
    stop: () => clearInterval(timer),
  }
}
