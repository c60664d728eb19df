import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { serveMetrics } from '../http/metrics-route.ts'
import { createLogger } from '../logger.ts'
import { createMetrics, measureProcess } from '../metrics.ts'
import { exitAtLatest, untilToldToStop } from '../server.ts'
import { closeServices, createServices } from '../services.ts'
import {
  defaultConcurrency,
  defaultLeaseSeconds,
  readConcurrency,
  readHandlers,
  readLeaseSeconds,
  startWork,
} from './start-work.ts'
import { withMigratedDatabase } from './with-database.ts'

interface Options {
  readonly handlers?: string
  readonly concurrency: number
  readonly lease: number
}

/** `fusion work` */
export function workCommand(): Command {
  return new Command('work')
    .description(
      'work on the jobs of all tenants until told to stop; with the embedded database `serve` does so itself',
    )
    .option(
      '--handlers <file>',
      'the functions that the file exports work on the jobs of the type they are named after',
    )
    .option('--concurrency <count>', 'how many jobs to work on at a time', readConcurrency, defaultConcurrency)
    .option(
      '--lease <seconds>',
      'when others get the jobs of a worker that died',
      readLeaseSeconds,
      defaultLeaseSeconds,
    )
    .action(work)
}

async function work({ handlers: file, concurrency, lease }: Options): Promise<void> {
  const toldToStop = untilToldToStop()
  const config = readConfig()
  const handlers = await readHandlers(config, file)
  const logger = createLogger(config)
  await withMigratedDatabase(async (database) => {
    const metrics = createMetrics()
    measureProcess(metrics, () => database.driver.connections())
    const services = createServices(database, { metrics })
    const stopMetrics = await serveMetrics(metrics, config.host, config.metricsPort)
    const stopWork = startWork(services, { ...config, logger, handlers, concurrency, leaseSeconds: lease })
    logger.info({ jobTypes: [...handlers.keys()] }, 'working')
    await toldToStop
    logger.info('stopping')
    exitAtLatest(config.shutdownMilliseconds, logger)
    await stopWork()
    await stopMetrics()
    await closeServices(services)
    logger.info('stopped')
  })
}
