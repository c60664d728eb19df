import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { SupervisedProcess } from '../processes/supervised-process.ts'

const maxMilliseconds = 60_000

/**
 * Waits until each worker has completed a job that was created after this call. Clients must create jobs meanwhile.
 *
 * @returns a description of each worker that does not work
 */
export async function untilWorkersWork(url: string, workers: readonly SupervisedProcess[]): Promise<string[]> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  try {
    const { rows } = await session.query('SELECT now()::text AS since')
    for (const startedAt = performance.now(); ; ) {
      const { rows: runs } = await session.query(
        `SELECT DISTINCT result->>'pid' AS pid FROM job WHERE job_type = 'echo' AND status = 'SUCCEEDED' AND created_at > $1`,
        [rows[0].since],
      )
      const idle = workers.filter((worker) => !runs.some(({ pid }) => pid === String(worker.pid())))
      if (idle.length === 0) return []
      if (performance.now() - startedAt > maxMilliseconds) return idle.map(({ name }) => `${name} runs no jobs`)
      await sleep(500)
    }
  } finally {
    await session.end()
  }
}
