import type { Config } from '../config.ts'
import { removeEndedKeys } from '../domain/credential/key.service.ts'
import { eraseUsers } from '../domain/erasure/erase-users.ts'
import { createEventLog } from '../domain/event/event-log.ts'
import type { JobHandlers } from '../domain/job/worker/handler.ts'
import { loadHandlers } from '../domain/job/worker/load-handlers.ts'
import { startMaintenance } from '../domain/job/worker/maintenance.ts'
import { startWorker, type Worker } from '../domain/job/worker/worker.ts'
import { removeOldUsage } from '../domain/usage/write-usage.ts'
import type { Services } from '../engine/context.ts'
import { removeExpiredResponses } from '../engine/idempotency/idempotency.ts'
import type { StartDeliveriesOptions } from './start-deliveries.ts'
import { graceOf } from './stop.ts'

/**
 * The handlers of a worker: those of the gateway, and those of a file, which take precedence.
 *
 * @throws OperatorError if the file cannot be used
 */
export async function readHandlers(config: Config, file: string | undefined): Promise<JobHandlers> {
  // Processes that run no jobs do not load the HTTP client of this handler.
  const { createFetchContent } = await import('../domain/job/handlers/fetch-content.ts')
  const { fetchPrivateNetworks: allowPrivateNetworks, fetchUserAgent: userAgent } = config
  const fetchContent = createFetchContent({ allowPrivateNetworks, userAgent })
  return new Map([['fetch_content', fetchContent], ...(file === undefined ? [] : await loadHandlers(file))])
}

interface StartWorkOptions
  extends Pick<Config, 'jobRetentionDays' | 'eventRetentionDays' | 'usageRetentionDays' | 'shutdownMilliseconds'>,
    StartDeliveriesOptions {
  /** Without handlers this process runs no jobs, and delivers no events. */
  readonly handlers?: JobHandlers
  readonly concurrency: number
  /** How long other workers wait for a worker that has died. 30 by default. */
  readonly leaseSeconds?: number | undefined
}

export interface Work {
  /** Resolves when the last job and the last delivery have ended. */
  stop(): Promise<void>
  /**
   * Ends the attempts of jobs because of an error that nothing has caught. Undefined if this process runs no jobs. See
   * `Worker`.
   */
  readonly crash: Worker['crash'] | undefined
}

/**
 * Starts the worker, the deliveries and the maintenance of a process.
 *
 * @returns what ends them
 */
export function startWork(services: Services, options: StartWorkOptions): Work {
  const { database, jobs, events, deliveries } = services
  const { logger: log, jobRetentionDays: retentionDays, eventRetentionDays, handlers } = options
  const { concurrency, leaseSeconds = 30 } = options
  const tidyUp = async () => {
    await removeExpiredResponses(database)
    await removeEndedKeys(database)
    if (eventRetentionDays > 0) {
      await createEventLog(database).removeOlderThan(eventRetentionDays)
      await deliveries.removeOld()
    }
    if (options.usageRetentionDays > 0) await removeOldUsage(database, options.usageRetentionDays)
    if (!database.driver.gathersStatistics) await database.sql.executeScript('ANALYZE')
  }
  const erase = () => eraseUsers(database)
  const stopMaintenance = startMaintenance({ jobs, log, retentionDays, erase, tidyUp })
  const traceWork = options.tracing?.workTraces(options.meter)
  const worker = handlers && startWorker({ jobs, events, handlers, concurrency, leaseSeconds, log, traceWork })
  // Processes that run no jobs do not load the HTTP client of webhooks.
  const deliverer =
    handlers && import('./start-deliveries.ts').then(({ startDeliveries }) => startDeliveries(services, options))
  return {
    async stop() {
      const grace = graceOf(options.shutdownMilliseconds)
      await Promise.all([worker?.stop(grace), deliverer?.then((stop) => stop?.(grace))])
      await stopMaintenance()
    },
    crash: worker?.crash,
  }
}
