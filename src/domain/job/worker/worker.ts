import { AsyncLocalStorage } from 'node:async_hooks'
import { createAlarm, repeat } from '@fusion-gateway/base'
import type { Job } from '@fusion-gateway/database'
import type { Logger } from '@fusion-gateway/telemetry'
import { type EventFeed, keepWatching } from '../../event/event-feed.ts'
import type { JobStore } from '../store/job-store.ts'
import { type Failure, type JobLease, leaseOf } from '../store/transitions.ts'
import type { JobHandler, JobHandlers } from './handler.ts'
import { codedError, failureOf } from './outcome.ts'
import { heldJob, type RunningJob, runJob, type TraceJob } from './run-job.ts'

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
  readonly trace?: TraceJob | undefined
}

export type Worker = ReturnType<typeof startWorker>

/** Starts a worker. It runs the jobs of all tenants for which there is a handler. */
export function startWorker(options: WorkerOptions) {
  const { jobs, events, handlers, log, concurrency, leaseSeconds, pollMilliseconds = 2_000, trace } = options
  // By lease token: a job whose lease expired can come back before its first attempt here has ended.
  const running = new Map<string, RunningJob>()
  /** The job in whose handler the code runs, also in its timers and promises. */
  const current = new AsyncLocalStorage<JobLease>()
  const watch = watchEventLoop(running, leaseSeconds, log)
  const alarm = createAlarm()
  const turns = createTurns(handlers.keys())
  const stopping = new AbortController()
  let hasCrashed = false

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
      const handlerOfLease: JobHandler = (payload, context) => current.run(lease, () => handler(payload, context))
      const job = runJob({ jobs, lease, handler: handlerOfLease, leaseSeconds, log, trace })
      running.set(lease.leaseToken, job)
      void job.ended.finally(() => {
        running.delete(lease.leaseToken)
        watch.noteEnd(job)
        alarm.ring()
      })
    }
    return true
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
  async function abortStopped(): Promise<void> {
    const held = [...running.values()]
    const stoppedJobs = held.length > 0 ? await jobs.findStopped(held.map(({ lease }) => lease.job)) : []
    for (const { lease, abort } of held) {
      const { tenantAppId, id } = lease.job
      // A tenant can have a job with the id of another tenant's.
      const found = stoppedJobs.find((job) => job.tenantAppId === tenantAppId && job.id === id)
      if (found) abort(new Error(found.isCancelled ? 'The job was cancelled' : 'The tenant was suspended'))
    }
  }

  let isChecking = false
  async function onEvents(): Promise<void> {
    alarm.ring()
    if (isChecking) return
    isChecking = true
    // Extending the lease finds such a job too, only later.
    await abortStopped().catch(() => undefined)
    isChecking = false
  }
  void keepWatching({ events, log, signal, onEvents: () => void onEvents() })

  return {
    /**
     * Claims no more jobs and waits for those that run.
     *
     * @param graceMilliseconds how long they may take. Then their handlers are told to stop, and the jobs wait for
     *   another worker
     */
    async stop(graceMilliseconds: number): Promise<void> {
      stopping.abort()
      await stopped
      const timer = setTimeout(() => {
        for (const { abort } of running.values()) abort(codedError('WORKER_STOPPED', 'The worker was stopped'))
      }, graceMilliseconds)
      await Promise.all([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
      watch.stop()
    },
    /**
     * Ends all attempts because nothing has caught an error, after which the process must end. The job whose handler
     * left it fails, and so does a job that runs alone: it would end the next worker, too. The others wait for another
     * worker. Must be called by the listener of the error.
     *
     * @returns the jobs, the one that caused the error, if known, and when the ends of the attempts are recorded, or
     *   cannot be
     */
    crash(error: unknown) {
      hasCrashed = true
      stopping.abort()
      const held = [...running.values()]
      const source = running.get(current.getStore()?.leaseToken ?? '')
      const culprit = source ?? (held.length === 1 ? held[0] : undefined)
      const recorded = Promise.allSettled(
        held.map((job) => jobs.fail(heldJob(job.lease), job === culprit ? uncaughtFailure(error) : workerCrashed)),
      )
      return { jobs: held.map(loggedJob), culprit: culprit && loggedJob(culprit), recorded }
    },
    /** Whether a handler, its timers and promises included, runs the code that calls this. */
    isInHandler: () => !hasCrashed && current.getStore() !== undefined,
    /** The jobs that run, unless the worker stops. */
    running: () => (signal.aborted ? [] : [...running.values()].map(loggedJob)),
  }
}

/** The failure of the job whose handler has left an error uncaught. Another attempt would end the worker again. */
function uncaughtFailure(error: unknown): Failure {
  const { message } = failureOf(error)
  const text = `The handler left an error uncaught, which ended the worker: ${message}`
  return { ...failureOf({ message: text }), code: 'UNCAUGHT_ERROR', isRetryable: false }
}

/** The failure of another job of a worker that such an error has ended. */
const workerCrashed: Failure = {
  code: 'WORKER_CRASHED',
  message: 'An error that was not caught ended the worker.',
  isRetryable: true,
}

/**
 * Remembers whom a worker has served: the types in the order in which they are served next, and the tenant
 * that was served last with each of them. The tenants are remembered for each type. With one tenant for all types, the
 * turns of types and tenants could keep step, so that a tenant would never be served with one of the types.
 */
function createTurns(jobTypes: Iterable<string>) {
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

interface LoggedJob {
  readonly id: string
  readonly jobType: string | null
}

function loggedJob({ lease: { job } }: Pick<RunningJob, 'lease'>): LoggedJob {
  return { id: job.id, jobType: job.jobType }
}

/**
 * Watches the event loop, and warns with the jobs that ran when it was blocked for so long that their leases could not
 * be extended. Then another worker may run them again, and what these handlers return is lost.
 */
function watchEventLoop(running: ReadonlyMap<string, RunningJob>, leaseSeconds: number, log: Logger) {
  // Leases are extended three times in their duration.
  const maxBlockedMilliseconds = (leaseSeconds * 1_000) / 3
  const intervalMilliseconds = maxBlockedMilliseconds / 4
  // A handler that blocks can also return before the timer is called.
  const ended = new Set<RunningJob>()
  let checkedAt = performance.now()

  const timer = setInterval(() => {
    const now = performance.now()
    const blocked = now - checkedAt - intervalMilliseconds
    checkedAt = now
    const jobs = [...running.values(), ...ended].map(loggedJob)
    ended.clear()
    if (blocked < maxBlockedMilliseconds || jobs.length === 0) return
    const blockedSeconds = Math.round(blocked / 100) / 10
    log.warn(
      { jobs, blockedSeconds, leaseSeconds },
      'a handler of one of these jobs blocked the event loop, so no lease could be extended: see "Handlers that block" in docs/jobs.md',
    )
  }, intervalMilliseconds)

  return {
    noteEnd: (job: RunningJob) => void ended.add(job),
    stop: () => clearInterval(timer),
  }
}
