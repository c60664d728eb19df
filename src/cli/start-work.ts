import type { Config } from '../config.ts'
import type { Logger } from '../context.ts'
import { removeOldAnswers } from '../idempotency/idempotency.ts'
import type { JobHandlers } from '../job/handler.ts'
import { createFetchContent } from '../job/handlers/fetch-content.ts'
import { startUpkeep } from '../job/job.upkeep.ts'
import { loadHandlers } from '../job/load-handlers.ts'
import { startWorker } from '../job/worker.ts'
import { graceOf } from '../server.ts'
import type { Services } from '../services.ts'
import { defaultLeaseSeconds } from './work-options.ts'

/**
 * The handlers of a worker: those in the box, and those of a file, which come first.
 *
 * @throws OperatorError when the file cannot be used
 */
export async function readHandlers(config: Config, file: string | undefined): Promise<JobHandlers> {
  const inTheBox = createFetchContent({ allowPrivateNetworks: config.fetchPrivateNetworks })
  return new Map([['fetch_content', inTheBox], ...(file === undefined ? [] : await loadHandlers(file))])
}

export interface WorkOptions {
  readonly logger: Logger
  readonly jobRetentionDays: number
  /** How long the process may take to stop. */
  readonly shutdownMilliseconds: number
  /** Without them no job is worked on here. */
  readonly handlers?: JobHandlers
  readonly concurrency: number
  readonly leaseSeconds?: number
}

/**
 * Starts what a process does beside answering requests: working on jobs, and keeping them in order.
 *
 * @returns stops it, and resolves when the last job is let go
 */
export function startWork({ database, queue, changes }: Services, options: WorkOptions): () => Promise<void> {
  const { logger: log, jobRetentionDays: retentionDays, handlers, concurrency } = options
  const { leaseSeconds = defaultLeaseSeconds } = options
  const store = { prisma: database.prisma, queue }
  const stopUpkeep = startUpkeep({ store, log, retentionDays, removeOld: () => removeOldAnswers(database) })
  const worker = handlers && startWorker({ store, changes, handlers, concurrency, leaseSeconds, log })
  return async () => {
    await worker?.stop(graceOf(options.shutdownMilliseconds))
    await stopUpkeep()
  }
}
