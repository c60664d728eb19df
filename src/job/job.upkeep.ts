import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../context.ts'
import { isDatabaseUnavailable } from '../db/availability.ts'
import { endAttempt } from './job.lease.ts'
import { findJob, type JobStore } from './job.store.ts'

export interface UpkeepOptions {
  readonly store: JobStore
  /** What else is over after a time. Called every ten minutes. */
  readonly removeOld?: () => Promise<void>
  readonly log: Logger
  /** How long a finished job is kept; 0: for ever. */
  readonly retentionDays: number
  /** How often lost leases are looked for. */
  readonly intervalMilliseconds?: number
}

const retentionIntervalMilliseconds = 10 * 60_000

/**
 * Does what no caller asks for, until it is stopped: jobs whose lease was lost wait again, and finished jobs go when
 * their time is over. Any number of processes may do so at once.
 *
 * @returns stops it, and resolves when it has stopped
 */
export function startUpkeep(options: UpkeepOptions): () => Promise<void> {
  const { store, log, retentionDays, intervalMilliseconds = 5_000 } = options
  const stopping = new AbortController()
  const stopped = run()

  async function run(): Promise<void> {
    let nextRetention = 0
    while (!stopping.signal.aborted) {
      try {
        await releaseLostLeases(store, log)
        if (performance.now() >= nextRetention) {
          nextRetention = performance.now() + retentionIntervalMilliseconds
          if (retentionDays > 0) await removeFinishedJobs(store, retentionDays)
          await options.removeOld?.()
        }
      } catch (error) {
        log.warn({ err: error }, 'the upkeep of jobs did not succeed; it is tried again')
      }
      await sleep(intervalMilliseconds, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }

  return () => {
    stopping.abort()
    return stopped
  }
}

const batchSize = 500

/**
 * Ends the attempts whose lease has run out: whoever made them is gone, or too slow.
 *
 * @returns how many
 */
export async function releaseLostLeases(store: JobStore, log: Logger): Promise<number> {
  const lost = await store.prisma.$queryRaw<LostLease[]>`
    SELECT tenant_app_id AS "tenantAppId", id, lease_token AS "leaseToken", lease_expires_at AS "leaseExpiresAt" FROM job
    WHERE status = 'RUNNING' AND lease_expires_at < now() ORDER BY lease_expires_at LIMIT ${batchSize}`
  let released = 0
  for (const lease of lost) {
    try {
      const job = await findJob(store, lease)
      // Nothing happens where the lease was extended since it was listed, or the job has ended or begun anew.
      if (job.leaseToken !== lease.leaseToken) continue
      if (await endAttempt(store, job, lease, leaseLost)) released += 1
    } catch (error) {
      // One job that cannot be released must not keep the others from it.
      if (isDatabaseUnavailable(error)) throw error
      log.warn({ err: error, job: lease.id }, 'the lost lease of a job could not be released')
    }
  }
  return released
}

interface LostLease {
  readonly tenantAppId: string
  readonly id: string
  readonly leaseToken: string
  readonly leaseExpiresAt: Date
}

const leaseLost = {
  code: 'LEASE_LOST',
  message: 'Whoever worked on it gave no more sign of life.',
  retryable: true,
}

/**
 * Removes the jobs that have been finished for so long, a small batch at a time, so that nobody waits for it. Jobs that
 * were brought from elsewhere stay: when they were finished is not known.
 *
 * @returns how many
 */
export async function removeFinishedJobs({ prisma }: Pick<JobStore, 'prisma'>, days: number): Promise<number> {
  let removed = 0
  for (let batch = batchSize; batch === batchSize; removed += batch) {
    batch = await prisma.$executeRaw`
      DELETE FROM job WHERE (tenant_app_id, id) IN (
        SELECT tenant_app_id, id FROM job WHERE finished_at < now() - make_interval(days => ${days})
        ORDER BY finished_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`
  }
  return removed
}
