import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { jobTypes } from '../ledger.ts'

/** How long due jobs may wait. The lease of a killed worker must expire, and two workers share the rest. */
const maxWaitMilliseconds = 60_000

/**
 * Waits until all jobs have ended. An attempt that failed delays a job, so this can take minutes.
 *
 * @returns a description of each job that is due and not run
 */
export async function untilJobsEnd(url: string): Promise<string[]> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  try {
    for (let dueAt = performance.now(); ; ) {
      const { rows } = await session.query(
        `SELECT id, status, attempts, extract(epoch FROM greatest(run_at - now(), '0'))::float AS seconds
         FROM job WHERE status IN ('PENDING', 'RUNNING') AND job_type = ANY ($1)`,
        [jobTypes],
      )
      if (rows.length === 0) return []
      // A job that is not due yet postpones the end.
      dueAt = Math.max(dueAt, ...rows.map(({ seconds }) => (seconds > 0 ? performance.now() + seconds * 1_000 : 0)))
      if (performance.now() - dueAt > maxWaitMilliseconds) {
        return rows.map(({ id, status, attempts }) => `${id} is still ${status} after ${attempts} attempts`)
      }
      await sleep(500)
    }
  } finally {
    await session.end()
  }
}
