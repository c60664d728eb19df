import { readConfig } from '../../config.ts'
import { measureJobs } from '../../domain/job/measure-jobs.ts'
import { createServices } from '../../domain/services.ts'
import { startUsageWriter } from '../../domain/usage/usage-writer.ts'
import type { Database } from '../../engine/db/database.ts'
import { createStatementMeter } from '../../engine/db/statement-meter.ts'
import { serveMetrics } from '../../engine/http/plugins/metrics.ts'
import { createRateLimit } from '../../engine/limits/rate-limit.ts'
import { createLogger } from '../../engine/telemetry/logger.ts'
import { createMetrics, measureProcess } from '../../engine/telemetry/metrics.ts'
import { withMigratedDatabase } from '../actions/with-database.ts'
import type { Io } from '../io.ts'
import { exitOnUncaughtError } from './exit-on-uncaught-error.ts'
import { openRedis } from './open-redis.ts'
import { startTracing, stopTracing } from './start-tracing.ts'
import { readHandlers, startWork } from './start-work.ts'
import { exitAtLatest, receiveStopSignals } from './stop.ts'
import { webhookKeysOf } from './webhook-keys.ts'

export interface WorkOptions {
  readonly handlers?: string
  readonly concurrency: number
  readonly lease: number
}

/** Runs the jobs of all tenants until the process is told to stop. */
export async function work(io: Io, { handlers: file, concurrency, lease }: WorkOptions): Promise<void> {
  const toldToStop = new Promise<void>(receiveStopSignals())
  const config = readConfig(io.env)
  const handlers = await readHandlers(config, file)
  const metrics = createMetrics()
  const logger = createLogger({ ...config, metrics })
  const tracing = await startTracing(config, logger)
  const meter = createStatementMeter(metrics.observeStatement)
  const run = async (database: Database) => {
    measureProcess(metrics, () => database.driver.connections())
    const services = createServices(database, { ...config, webhookKeys: webhookKeysOf(config), metrics, logger })
    measureJobs(metrics, services.jobs, meter)
    const redis = await openRedis(config, logger)
    const { pointsPerMinute, pointsPerUser } = config
    const rateLimit = createRateLimit(pointsPerMinute, { log: logger, pointsPerUser, redis, metrics })
    const stopMetrics = await serveMetrics(metrics.registry, config)
    const options = { ...config, logger, meter, tracing, rateLimit, handlers, concurrency, leaseSeconds: lease }
    const { stop: stopWork, crash } = startWork(services, options)
    exitOnUncaughtError(logger, crash)
    const stopUsageWriter = startUsageWriter(services, { log: logger })
    logger.info({ jobTypes: [...handlers.keys()] }, 'working')
    await toldToStop
    logger.info('stopping')
    exitAtLatest(config.shutdownMilliseconds, logger)
    await stopWork()
    await stopUsageWriter()
    await stopMetrics()
    await services.events.close()
    redis?.close()
    await stopTracing(tracing)
    logger.info('stopped')
  }
  await withMigratedDatabase(io, run, { observe: meter.observe, actorOf: meter.actor })
}
