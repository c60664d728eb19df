import { AsyncLocalStorage } from 'node:async_hooks'
import { createAlarm } from '../../../engine/alarm.ts'
import { repeat } from '../../../engine/repeat.ts'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { TraceWork } from '../../../engine/telemetry/work-trace.ts'
import type { EventFeed } from '../../event/event-feed.ts'
import { keepWatching } from '../../event/wake-ups.ts'
import type { JobStore } from '../store/job-store.ts'
import { type JobLease, leaseOf } from '../store/lease.ts'
import { uncaughtFailure, workerCrashed } from './crash.ts'
import type { JobHandler, JobHandlers } from './handler.ts'
import { heldJob, type RunningJob, runJob } from './run-job.ts'
import { createTurns } from './turns.ts'
import { type LoggedJob, loggedJob, watchEventLoop } from './watch-event-loop.ts'

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
   * @param graceMilliseconds how long they may take. Then their handlers are told to stop, and the jobs wait for
   *   another worker
   */
  stop(graceMilliseconds: number): Promise<void>
  /**
   * Ends all attempts because nothing has caught an error, after which the process must end. The job whose handler left
   * it fails, and so does a job that runs alone: it would end the next worker, too. The others wait for another worker.
   * Must be called by the listener of the error.
   */
  crash(error: unknown): WorkerCrash
}

export interface WorkerCrash {
  /** The jobs that were running. */
  readonly jobs: readonly LoggedJob[]
  /** The one whose handler left the error, as far as that is known. */
  readonly culprit: LoggedJob | undefined
  /** Resolves when the ends of the attempts are recorded, or cannot be. */
  readonly recorded: Promise<unknown>
}

/** Starts a worker. It runs the jobs of all tenants for which there is a handler. */
export function startWorker(options: WorkerOptions): Worker {
  const { jobs, events, handlers, log, concurrency, leaseSeconds, pollMilliseconds = 2_000, traceWork } = options
  // By lease token: a job whose lease expired can come back before its first attempt here has ended.
  const running = new Map<string, RunningJob>()
  /** The job in whose handler the code runs, also in its timers and promises. */
  const current = new AsyncLocalStorage<JobLease>()
  const watch = watchEventLoop({ leaseSeconds, log })
  const alarm = createAlarm()
  const turns = createTurns(handlers.keys())
  const stopping = new AbortController()

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
      const job = runJob({ jobs, lease, handler: within(lease, handler), leaseSeconds, log, traceWork })
      running.set(lease.leaseToken, job)
      watch.add(job)
      void job.ended.finally(() => {
        running.delete(lease.leaseToken)
        alarm.ring()
      })
    }
    return true
  }

  function within(lease: JobLease, handler: JobHandler): JobHandler {
    return (payload, context) => current.run(lease, () => handler(payload, context))
  }

  const { signal } = stopping
  const stopped = repeat(async () => ((await claim()) ? 0 : pollMilliseconds), {
    signal,
    alarm,
    onError(error) {
      log.warn({ err: error }, 'the worker could not claim jobs; it tries again')
      return pollMilliseconds
    },
  })
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
  void keepWatching({ events, log, signal, onEvents: () => void onEvents() })

  return {
    async stop(graceMilliseconds) {
      stopping.abort()
      await stopped
      const timer = setTimeout(() => {
        for (const { abort } of running.values()) {
          abort(Object.assign(new Error('The worker was stopped'), { code: 'WORKER_STOPPED' }))
        }
      }, graceMilliseconds)
      await Promise.all([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
      watch.stop()
    },
    crash(error) {
      stopping.abort()
      const held = [...running.values()]
      const source = running.get(current.getStore()?.leaseToken ?? '')
      const culprit = source ?? (held.length === 1 ? held[0] : undefined)
      const recorded = Promise.allSettled(
        held.map((job) => jobs.fail(heldJob(job.lease), job === culprit ? uncaughtFailure(error) : workerCrashed)),
      )
      return { jobs: held.map(loggedJob), culprit: culprit && loggedJob(culprit), recorded }
    },
  }
}
