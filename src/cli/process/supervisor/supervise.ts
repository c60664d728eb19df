import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { readConfig } from '../../../config.ts'
import { OperatorError } from '../../../engine/errors.ts'
import { serveMetrics } from '../../../engine/http/server/serve-metrics.ts'
import { createSharedCounts } from '../../../engine/limits/shared-counts.ts'
import { createLogger } from '../../../engine/telemetry/logger.ts'
import { exitWhenDone } from '../lifecycle.ts'
import { obeySignals } from '../stop-requests.ts'
import { startChild } from './child.ts'
import { createProcessPool } from './process-pool.ts'
import { createSummedMetrics } from './sum-metrics.ts'

/** How long `/metrics` waits for the processes. */
const reportMilliseconds = 1_000

/**
 * Serves with several processes on one port until it is told to stop. This process is their supervisor: it passes connections
 * to them, replaces those that end, counts points for all of them, sums their metrics, and answers no requests itself.
 *
 * @param size the number of processes
 * @throws OperatorError on the embedded database
 */
export async function supervise(size: number): Promise<void> {
  const { database, host, metricsPort, shutdownMilliseconds, logLevel } = readConfig()
  if (database.kind === 'embedded') {
    throw new OperatorError(
      `--processes ${size} needs PostgreSQL, because only one process can open the embedded database. Set DATABASE_URL.`,
    )
  }
  const log = createLogger({ logLevel })
  const counts = createSharedCounts()
  const metrics = createSummedMetrics(async () => {
    const reports = Promise.all([...pool.serving].map((child) => child.reportMetrics()))
    await Promise.race([reports, sleep(reportMilliseconds, undefined, { ref: false })])
  })
  const pool = createProcessPool({
    ...{ size, shutdownMilliseconds, log },
    startChild() {
      const share = metrics.add()
      const child = startChild({
        ...counts,
        readMetrics: () => metrics.metrics(),
        reportMetrics: async (report) => share.report(report),
      })
      child.ended.then(() => share.retire())
      return child
    },
  })
  // SIGHUP restarts the processes, unless it says that the terminal is closed.
  if (isatty(0)) obeySignals(['SIGINT', 'SIGTERM', 'SIGHUP'], pool)
  else {
    obeySignals(['SIGINT', 'SIGTERM'], pool)
    process.on('SIGHUP', pool.restart)
  }
  const stopMetrics = await serveMetrics(metrics, host, metricsPort)
  process.exitCode = await pool.run((address) => log.info({ processes: size }, `Server listening at ${address}`))
  await stopMetrics()
  // node:cluster keeps a connection that was on its way to a process which has ended. It would keep this process running.
  exitWhenDone()
}
