import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../context.ts'
import type { JobHandlers } from './handler.ts'
import type { JobChanges } from './job.changes.ts'
import { claimJobs } from './job.lease.ts'
import type { JobStore } from './job.store.ts'
import { type RunningJob, runJob } from './run-job.ts'
import { findWaitingQueues } from './waiting-queues.ts'

export interface WorkerOptions {
  readonly store: JobStore
  readonly changes: JobChanges
  readonly handlers: JobHandlers
  readonly log: Logger
  /** How many jobs are worked on at a time. */
  readonly concurrency: number
  /** After so long without a sign of life of this process its jobs go to others. */
  readonly leaseSeconds: number
  /** How long until the queues are looked at again, when nobody announces a job. */
  readonly pollMilliseconds?: number
}

const listenAgainMilliseconds = 5_000

/** A worker that works. */
export interface Worker {
  /**
   * Takes no more jobs and lets those under way end.
   *
   * @param graceMilliseconds how long they may take; then they are told to stop, and wait to be worked on again
   * @returns when none is left
   */
  stop(graceMilliseconds: number): Promise<void>
}

/** Works on the jobs of all tenants for which there is a handler, until it is stopped. */
export function startWorker(options: WorkerOptions): Worker {
  const { store, changes, handlers, log, concurrency, leaseSeconds, pollMilliseconds = 2_000 } = options
  const jobTypes = [...handlers.keys()]
  // By lease: a job that was lost may come back while its first attempt here has not ended yet.
  const running = new Map<string, RunningJob>()
  const bell = createBell()
  let stopping = false

  async function takeJobs(): Promise<boolean> {
    const limit = concurrency - running.size
    if (limit <= 0) return false
    // In another order each time, so that no tenant's queue has to wait for another's to be empty.
    const queues = shuffle(await findWaitingQueues(store, jobTypes))
    const leases = await claimJobs(store, queues, { limit, leaseSeconds })
    for (const lease of leases) {
      const { job } = lease
      const handler = handlers.get(job.jobType ?? '')
      if (!handler) throw new Error(`A job of another type was taken: ${job.jobType}`)
      const work = runJob({ store, lease, handler, leaseSeconds, log })
      running.set(lease.leaseToken, work)
      void work.ended.finally(() => {
        running.delete(lease.leaseToken)
        bell.ring()
      })
    }
    return leases.length > 0
  }

  async function work(): Promise<void> {
    while (!stopping) {
      let tookSome = false
      try {
        tookSome = await takeJobs()
      } catch (error) {
        log.warn({ err: error }, 'no job could be taken; it is tried again')
      }
      if (!tookSome) await bell.heard(pollMilliseconds)
    }
  }

  /** Only makes it quicker: unannounced jobs are found by polling, and one that was called off by extending its lease. */
  async function listen(): Promise<void> {
    const news = await changes.follow(({ status }) => status === 'PENDING' || status === 'CANCELLED')
    void stopped.finally(() => news.return())
    for (;;) {
      const { done, value } = await news.next()
      if (done) return
      for (const { status, tenantAppId, id } of value.changes) {
        if (status !== 'CANCELLED') continue
        for (const work of running.values()) {
          const { job } = work.lease
          if (job.tenantAppId === tenantAppId && job.id === id) work.abort(new Error('The job was called off'))
        }
      }
      bell.ring()
    }
  }

  async function keepListening(): Promise<void> {
    while (!stopping) {
      try {
        return await listen()
      } catch (error) {
        log.warn({ err: error }, 'jobs are not announced to this worker, which polls for them')
        await sleep(listenAgainMilliseconds, undefined, { ref: false })
      }
    }
  }

  const stopped = work()
  void keepListening()

  return {
    async stop(graceMilliseconds) {
      stopping = true
      bell.ring()
      await stopped
      const timer = setTimeout(() => {
        for (const job of running.values()) {
          job.abort(Object.assign(new Error('The worker was stopped'), { code: 'WORKER_STOPPED' }))
        }
      }, graceMilliseconds)
      await Promise.all([...running.values()].map(({ ended }) => ended))
      clearTimeout(timer)
    },
  }
}

/** Wakes one who waits. A ring that nobody waits for is heard by the next. */
function createBell() {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    async heard(timeoutMilliseconds: number): Promise<void> {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMilliseconds)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
      wake = undefined
    },
  }
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
