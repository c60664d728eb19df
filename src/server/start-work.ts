import { buildVersion, repeat } from '@fusion-gateway/base'
import { removeExpiredResponses, type Services } from '@fusion-gateway/gateway-kit'
import type { Logger } from '@fusion-gateway/telemetry'
import type { Config } from '../config.ts'
import { removeEndedKeys } from '../domain/credential/key.service.ts'
import { eraseUsers } from '../domain/erasure/erase-users.ts'
import { createEventLog } from '../domain/event/event-log.ts'
import type { JobStore } from '../domain/job/store/job-store.ts'
import type { Failure } from '../domain/job/store/transitions.ts'
import type { JobHandlers } from '../domain/job/worker/handler.ts'
import { loadHandlers } from '../domain/job/worker/load-handlers.ts'
import type { TraceJob } from '../domain/job/worker/run-job.ts'
import { startWorker } from '../domain/job/worker/worker.ts'
import { removeOldMetrics } from '../domain/profile/profile-metric.ts'
import { removeOldUsage } from '../domain/usage/write-usage.ts'
import type { StartDeliveriesOptions } from './start-deliveries.ts'
import { graceOf } from './stop.ts'

export interface MaintenanceOptions {
  readonly jobs: JobStore
  /** Erases what still names users who were deleted. Called at each interval. */
  readonly erase?: () => Promise<void>
  /** Further maintenance. Called at the start and every ten minutes. */
  readonly tidyUp?: () => Promise<void>
  readonly log: Logger
  /** How long a finished job is kept; 0 keeps it forever. */
  readonly retentionDays: number
  /** How often expired leases and deleted users are looked for. */
  readonly intervalMilliseconds?: number
}

const retentionIntervalMilliseconds = 10 * 60_000

export const leaseLost: Failure = {
  code: 'LEASE_LOST',
  message: 'The worker stopped extending the lease.',
  isRetryable: true,
}

/** Starts the maintenance, which any number of processes may run. Returns the function that stops it. */
export function startMaintenance(options: MaintenanceOptions): () => Promise<void> {
  const { jobs, log, retentionDays, intervalMilliseconds = 5_000 } = options
  const stopping = new AbortController()
  const { signal } = stopping

  const keepDoing = (work: () => Promise<unknown>, milliseconds = intervalMilliseconds) =>
    repeat(() => work().then(() => milliseconds), {
      signal,
      onError(error) {
        log.warn({ err: error }, 'the maintenance failed; it is tried again')
        return intervalMilliseconds
      },
    })

  async function removeOld(): Promise<void> {
    try {
      if (retentionDays > 0) await jobs.removeFinished(retentionDays)
    } finally {
      await options.tidyUp?.()
    }
  }

  // A search for deleted users can take a while, and must not delay the jobs of workers that are gone.
  const stopped = Promise.all([
    keepDoing(() => jobs.failExpired(leaseLost)),
    keepDoing(async () => options.erase?.()),
    keepDoing(removeOld, retentionIntervalMilliseconds),
  ])

  return async () => {
    stopping.abort()
    await stopped
  }
}

/**
 * The handlers of a worker: those of the gateway, and those of a file, which take precedence.
 *
 * @throws OperatorError if the file cannot be used
 */
export async function readHandlers(config: Config, file: string | undefined): Promise<JobHandlers> {
  // Processes that run no jobs do not load the HTTP client of this handler.
  const { createFetchContent } = await import('../domain/job/handlers/fetch-content.ts')
  const userAgent = `FusionGateway/${buildVersion()}`
  const fetchContent = createFetchContent({ allowPrivateNetworks: config.fetchPrivateNetworks, userAgent })
  return new Map([['fetch_content', fetchContent], ...(file === undefined ? [] : await loadHandlers(file))])
}

interface StartWorkOptions
  extends Pick<
      Config,
      'jobRetentionDays' | 'eventRetentionDays' | 'usageRetentionDays' | 'historyRetentionDays' | 'shutdownMilliseconds'
    >,
    StartDeliveriesOptions {
  /** Without handlers this process runs no jobs, and delivers no events. */
  readonly handlers?: JobHandlers
  readonly concurrency: number
  /** How long other workers wait for a worker that has died. 30 by default. */
  readonly leaseSeconds?: number | undefined
}

export function startWork(services: Services, options: StartWorkOptions) {
  const { database, jobs, events, deliveries } = services
  const { logger: log, jobRetentionDays: retentionDays, eventRetentionDays, handlers } = options
  const { concurrency, leaseSeconds = 30 } = options
  async function removeOldEvents(): Promise<void> {
    if (eventRetentionDays === 0) return
    await createEventLog(database).removeOlderThan(eventRetentionDays)
    await deliveries.removeOld()
  }
  /** One after the other. What fails for the tenants of one server keeps nothing else from being done. */
  async function tidyUp(): Promise<void> {
    const parts = [
      () => removeExpiredResponses(database),
      () => removeEndedKeys(database),
      removeOldEvents,
      async () => {
        if (options.usageRetentionDays > 0) await removeOldUsage(database, options.usageRetentionDays)
      },
      () => removeOldMetrics(database, options.historyRetentionDays),
      async () => {
        if (!database.driver.gathersStatistics) await database.sql.runScript('ANALYZE')
      },
    ]
    const errors: unknown[] = []
    for (const tidy of parts) await tidy().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
  const erase = () => eraseUsers(database)
  const stopMaintenance = startMaintenance({ jobs, log, retentionDays, erase, tidyUp })
  const traceWork = options.tracing?.workTraces(database.sql)
  const trace: TraceJob | undefined =
    traceWork &&
    ((work, run) =>
      traceWork(
        work,
        (sql) => run(jobs.on(sql)),
        (code) => code,
      ))
  const worker = handlers && startWorker({ jobs, events, handlers, concurrency, leaseSeconds, log, trace })
  // Processes that run no jobs do not load the HTTP client of webhooks.
  const deliverer =
    handlers && import('./start-deliveries.ts').then(({ startDeliveries }) => startDeliveries(services, options))
  return {
    /** Resolves when the last job and the last delivery have ended. */
    async stop(): Promise<void> {
      const grace = graceOf(options.shutdownMilliseconds)
      await Promise.all([worker?.stop(grace), deliverer?.then((stop) => stop?.(grace))])
      await stopMaintenance()
    },
    /** Undefined if this process runs no jobs. */
    worker,
  }
}
