import cluster from 'node:cluster'
import { isatty } from 'node:tty'
import { AggregatorRegistry, Registry } from '@prometheus-io/client'
import type { Io } from '../cli/io.ts'
import { readConfig } from '../config.ts'
import { OperatorError } from '../engine/errors.ts'
import { serveMetrics } from '../engine/http/plugins/metrics.ts'
import { createLogger } from '../engine/telemetry/logger.ts'
import { createProcessPool } from './process-pool.ts'
import { exitWhenDone, obeySignals } from './stop.ts'
import type { MessageOfChild } from './supervised.ts'

/**
 * Serves with several processes on one port until it is told to stop. This process is their supervisor: it passes
 * connections to them, replaces those that end, sums their metrics, and serves no requests itself.
 *
 * @param size the number of processes
 * @throws OperatorError on the embedded database
 */
export async function supervise({ env }: Pick<Io, 'env'>, size: number): Promise<void> {
  const config = readConfig(env)
  const { database, shutdownMilliseconds, drainMilliseconds, logLevel, logFormat } = config
  if (database.kind === 'embedded') {
    throw new OperatorError(
      `--processes ${size} needs PostgreSQL, because only one process can open the embedded database. Set DATABASE_URL.`,
    )
  }
  // A child ends by itself when it has taken too long to stop. One that cannot is killed a second later.
  const pool = createProcessPool(size, shutdownMilliseconds + 1_000, createLogger({ logLevel, logFormat }))
  obeySignals(['SIGINT', 'SIGTERM'], pool, drainMilliseconds)
  // On a terminal, SIGHUP says that the terminal is closed.
  process.on('SIGHUP', isatty(0) ? () => pool.stop() : pool.restart)
  const aggregator = new AggregatorRegistry()
  const metrics = () => aggregator.clusterMetrics()
  cluster.on('message', async (worker, { type }: MessageOfChild) => {
    if (type === 'readMetrics') worker.send({ type: 'metrics', text: await metrics().catch(() => undefined) })
  })
  const stopMetrics = await serveMetrics({ contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics }, config)
  await pool.run()
  await stopMetrics()
  // node:cluster keeps a connection that was on its way to a process which has ended. It would keep this process
  // running.
  exitWhenDone()
}
