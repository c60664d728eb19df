import { createAlarm } from '../../../engine/alarm.ts'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { TraceWork } from '../../../engine/telemetry/work-trace.ts'
import type { EventFeed } from '../../event/event-feed.ts'
import { keepWatching } from '../../event/wake-ups.ts'
import { type JobStore, leaseOf } from '../store/job-store.ts'
import type { JobHandlers } from './handler.ts'
import { type RunningJob, runJob } from './run-job.ts'
import { createTurns } from './turns.ts'

export interface WorkerOptions {
  readonly jobs: JobStore
  readonly events: Pick<EventFeed, 'watch'>
  readonly handlers: JobHandlers
  readonly log: Logger
  readonly concurrency: number
  /** After this time without an extension, other workers can claim the jobs of this process. */
  readonly leaseSeconds: number
  /** How often the worker looks for due jobs when none is announced. */
  readonly pollMilliseconds?: number
  /** Traces the jobs, if there is a collector. */
  readonly traceWork?: TraceWork | undefined
}

export interface Worker {
  /**
   * Claims no more jobs and waits for those that run.
   *
   * @param graceMilliseconds how long they may take. Then their handlers are told to stop, and the jobs wait for another
   *   worker
   */
  stop(graceMilliseconds: number): Promise<void>
}

/** Starts a worker. It runs the jobs of all tenants for which there is a handler. */
export function startWorker(options: WorkerOptions): Worker {
  const { jobs, events, handlers, log, concurrency, leaseSeconds, pollMilliseconds = 2_000, traceWork } = options
  // By lease token: a job whose lease expired can come back before its first attempt here has ended.
  const running = new Map<string, RunningJob>()
  const alarm = createAlarm()
  const turns = createTurns(handlers.keys())
  let isStopping = false

  async function claim(): Promise<boolean> {
    const limit = concurrency - running.size
    if (limit <= 0) return false
    const { lastServed } = turns
    const claimed = await jobs.claimOfAllTenants({ lastServed, jobTypes: turns.jobTypes(), limit, leaseSeconds })
    if (claimed.length === 0) return false
    // Every tenant and every type is served, however many jobs the others have.
    turns.note(claimed)
    for (const lease of claimed.map(leaseOf)) {
      const handler = handlers.get(lease.job.jobType ?? '')
      if (!handler) throw new Error(`The worker claimed a job of another type: ${lease.job.jobType}`)
      const job = runJob({ jobs, lease, handler, leaseSeconds, log, traceWork })
      running.set(lease.leaseToken, job)
      void job.ended.finally(() => {
        running.delete(lease.leaseToken)
        alarm.ring()
      })
    }
    return true
  }

  async function work(): Promise<void> {
    while (!isStopping) {
      let hasClaimed = false
      try {
        hasClaimed = await claim()
      } catch (error) {
        log.warn({ err: error }, 'the worker could not claim jobs; it tries again')
      }
      if (!hasClaimed) await alarm.wait(pollMilliseconds)
    }
  }

  const stopped = work()
  /** Tells the handlers of cancelled jobs to stop. */
  async function abortCancelled(): Promise<void> {
    const held = [...running.values()]
    const cancelled = held.length > 0 ? await jobs.findCancelled(held.map(({ lease }) => lease.job)) : []
    for (const { lease, abort } of held) {
      const { tenantAppId, id } = lease.job
      const isCancelled = cancelled.some((job) => job.tenantAppId === tenantAppId && job.id === id)
      if (isCancelled) abort(new Error('The job was cancelled'))
    }
  }

  let isChecking = false
  async function onEvents(): Promise<void> {
    alarm.ring()
    if (isChecking) return
    isChecking = true
    // Extending the lease finds a cancelled job too, only later.
    await abortCancelled().catch(() => undefined)
    isChecking = false
  }
  void keepWatching({ events, log, stopped, onEvents: () => void onEvents(), isStopping: () => isStopping })

  return {
    async stop(graceMilliseconds) {
      isStopping = true
      alarm.ring()
      await stopped
      const timer = setTimeout(() => {
        for (const { abort } of running.values()) {
          abort(Object.assign(new Error('The worker was stopped'), { code: 'WORKER_STOPPED' }))
        }
      }, graceMilliseconds)
      await Promise.all([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
    },
  }
}
