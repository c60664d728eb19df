import type { Io } from '../cli/io.ts'
import { readConfig } from '../config.ts'
import { createLogger } from '../engine/telemetry/logger.ts'
import { createMetrics } from '../engine/telemetry/metrics.ts'
import { runProcess } from './run-process.ts'
import { readHandlers } from './start-work.ts'
import { receiveStopSignals } from './stop.ts'

export interface WorkOptions {
  readonly handlers?: string
  readonly concurrency: number
  readonly lease: number
}

/** Runs the jobs of all tenants until the process is told to stop. */
export async function work(
  { env }: Pick<Io, 'env'>,
  { handlers: file, concurrency, lease }: WorkOptions,
): Promise<void> {
  const toldToStop = new Promise<void>(receiveStopSignals().onStopRequest)
  const config = readConfig(env)
  const handlers = await readHandlers(config, file)
  const metrics = createMetrics()
  const logger = createLogger({ ...config, metrics })
  for (const note of config.notes) logger.warn({}, note)
  await runProcess({
    config,
    metrics,
    logger,
    toldToStop,
    handlers,
    concurrency,
    leaseSeconds: lease,
    start: () => ({ begin: () => logger.info({ jobTypes: [...handlers.keys()] }, 'working') }),
  })
}
