import type { Config } from '../../config.ts'
import type { JobHandlers } from '../../domain/job/worker/handler.ts'
import { loadHandlers } from '../../domain/job/worker/load-handlers.ts'
import { startMaintenance } from '../../domain/job/worker/maintenance.ts'
import { startWorker } from '../../domain/job/worker/worker.ts'
import type { Services } from '../../engine/context.ts'
import { removeExpiredResponses } from '../../engine/idempotency/idempotency.ts'
import type { Logger } from '../../engine/telemetry/logger.ts'
import { defaultLeaseSeconds } from '../option-values.ts'
import { graceOf } from './stop.ts'

/**
 * The handlers of a worker: those of the gateway, and those of a file, which take precedence.
 *
 * @throws OperatorError if the file cannot be used
 */
export async function readHandlers(config: Config, file: string | undefined): Promise<JobHandlers> {
  // Processes that run no jobs do not load the HTTP client of this handler.
  const { createFetchContent } = await import('../../domain/job/handlers/fetch-content.ts')
  const fetchContent = createFetchContent({ allowPrivateNetworks: config.fetchPrivateNetworks })
  return new Map([['fetch_content', fetchContent], ...(file === undefined ? [] : await loadHandlers(file))])
}

interface StartWorkOptions extends Pick<Config, 'jobRetentionDays' | 'shutdownMilliseconds'> {
  readonly logger: Logger
  /** Without handlers this process runs no jobs. */
  readonly handlers?: JobHandlers
  readonly concurrency: number
  readonly leaseSeconds?: number
}

/**
 * Starts the worker and the maintenance of a process.
 *
 * @returns stops them, and resolves when the last job has ended
 */
export function startWork({ database, jobs, changes }: Services, options: StartWorkOptions): () => Promise<void> {
  const { logger: log, jobRetentionDays: retentionDays, handlers } = options
  const { concurrency, leaseSeconds = defaultLeaseSeconds } = options
  const tidyUp = async () => {
    await removeExpiredResponses(database)
    if (!database.driver.gathersStatistics) await database.sql.executeScript('ANALYZE')
  }
  const stopMaintenance = startMaintenance({ jobs, log, retentionDays, tidyUp })
  const worker = handlers && startWorker({ jobs, changes, handlers, concurrency, leaseSeconds, log })
  return async () => {
    await worker?.stop(graceOf(options.shutdownMilliseconds))
    await stopMaintenance()
  }
}
