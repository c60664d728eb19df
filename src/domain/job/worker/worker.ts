import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { JobChange, JobChanges } from '../changes/job-changes.ts'
import { type JobStore, leaseOf } from '../store/job-store.ts'
import type { JobHandlers } from './handler.ts'
import { type RunningJob, runJob } from './run-job.ts'

export interface WorkerOptions {
  readonly jobs: JobStore
  readonly changes: JobChanges
  readonly handlers: JobHandlers
  readonly log: Logger
  readonly concurrency: number
  /** After this time without an extension, other workers can claim the jobs of this process. */
  readonly leaseSeconds: number
  /** How often the worker looks for due jobs when none is announced. */
  readonly pollMilliseconds?: number
}

const listenAgainMilliseconds = 5_000

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
  const { jobs, changes, handlers, log, concurrency, leaseSeconds, pollMilliseconds = 2_000 } = options
  // By lease token: a job whose lease expired can come back before its first attempt here has ended.
  const running = new Map<string, RunningJob>()
  const alarm = createAlarm()
  let jobTypes = [...handlers.keys()]
  let lastServed = ''
  let isStopping = false

  async function claim(): Promise<boolean> {
    const limit = concurrency - running.size
    if (limit <= 0) return false
    const claimed = await jobs.claimOfAllTenants(lastServed, { jobTypes, limit, leaseSeconds })
    const last = claimed.at(-1)
    if (!last) return false
    // Every tenant and every type is served, however many jobs the others have.
    lastServed = last.tenantAppId
    jobTypes = [...jobTypes.slice(1), ...jobTypes.slice(0, 1)]
    for (const lease of claimed.map(leaseOf)) {
      const handler = handlers.get(lease.job.jobType ?? '')
      if (!handler) throw new Error(`The worker claimed a job of another type: ${lease.job.jobType}`)
      const job = runJob({ jobs, lease, handler, leaseSeconds, log })
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
  const onChange = ({ status, tenantAppId, id }: JobChange) => {
    if (status !== 'CANCELLED') return
    for (const { lease, abort } of running.values()) {
      if (lease.job.tenantAppId === tenantAppId && lease.job.id === id) abort(new Error('The job was cancelled'))
    }
  }
  void keepListening({ changes, log, stopped, onChange, onBatch: alarm.ring, isStopping: () => isStopping })

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

interface ListenOptions extends Pick<WorkerOptions, 'changes' | 'log'> {
  readonly stopped: Promise<void>
  readonly isStopping: () => boolean
  readonly onChange: (change: JobChange) => void
  /** Called after the changes that arrived together. */
  readonly onBatch: () => void
}

/**
 * Follows the changes of jobs until the worker stops. It only makes the worker faster: polling finds jobs that were not
 * announced, and extending the lease finds those that were cancelled.
 */
async function keepListening({ changes, log, stopped, isStopping, onChange, onBatch }: ListenOptions): Promise<void> {
  while (!isStopping()) {
    try {
      const follower = await changes.follow(({ status }) => status === 'PENDING' || status === 'CANCELLED')
      void stopped.finally(() => follower.return())
      for (let next = await follower.next(); !next.done; next = await follower.next()) {
        next.value.changes.forEach(onChange)
        onBatch()
      }
      return
    } catch (error) {
      log.warn({ err: error }, 'jobs are not announced to this worker; it polls for them')
      await sleep(listenAgainMilliseconds, undefined, { ref: false })
    }
  }
}

/** Wakes a waiting loop. If nothing waits, the next wait ends at once. */
function createAlarm() {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      wake?.()
    },
    async wait(timeoutMilliseconds: number): Promise<void> {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMilliseconds)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      hasRung = false
      wake = undefined
    },
  }
}
