import { readConfig } from '../../config.ts'
import { createServices } from '../../domain/services.ts'
import { serveMetrics } from '../../engine/http/plugins/metrics.ts'
import { createLogger } from '../../engine/telemetry/logger.ts'
import { createMetrics, measureProcess } from '../../engine/telemetry/metrics.ts'
import { withMigratedDatabase } from '../with-database.ts'
import { readHandlers, startWork } from './start-work.ts'
import { exitAtLatest, receiveStopSignals } from './stop.ts'

export interface WorkOptions {
  readonly handlers?: string
  readonly concurrency: number
  readonly lease: number
}

/** Runs the jobs of all tenants until the process is told to stop. */
export async function work({ handlers: file, concurrency, lease }: WorkOptions): Promise<void> {
  const toldToStop = new Promise<void>(receiveStopSignals())
  const config = readConfig()
  const handlers = await readHandlers(config, file)
  const metrics = createMetrics()
  const logger = createLogger({ ...config, metrics })
  await withMigratedDatabase(async (database) => {
    measureProcess(metrics, () => database.driver.connections())
    const services = createServices(database, { ...config, metrics })
    const stopMetrics = await serveMetrics(metrics.registry, config)
    const stopWork = startWork(services, { ...config, logger, handlers, concurrency, leaseSeconds: lease })
    logger.info({ jobTypes: [...handlers.keys()] }, 'working')
    await toldToStop
    logger.info('stopping')
    exitAtLatest(config.shutdownMilliseconds, logger)
    await stopWork()
    await stopMetrics()
    await services.changes.close()
    logger.info('stopped')
  })
}
