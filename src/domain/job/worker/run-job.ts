import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError, isObject } from '@fusion-gateway/base'
import { isDatabaseUnavailable } from '@fusion-gateway/sql'
import type { Logger, QueuedWork } from '@fusion-gateway/telemetry'
import { jobResult } from '../job.input.ts'
import type { HeldJob, JobStore } from '../store/job-store.ts'
import type { Failure, JobLease } from '../store/transitions.ts'
import { abortGraceMilliseconds, type JobHandler, PermanentError } from './handler.ts'
import { failureOf, progressMessageOf } from './outcome.ts'

export interface RunningJob {
  readonly lease: JobLease
  abort(reason: Error): void
  /**
   * Resolves when the outcome is stored, or cannot be. Never rejects. A handler that ignores the signal may still run.
   */
  readonly ended: Promise<unknown>
}

/** Runs a job in a trace. `run` gets the store whose statements belong to it, and returns the code of a failure. */
export type TraceJob = (
  work: QueuedWork,
  run: (jobs: JobStore) => Promise<string | undefined>,
) => Promise<string | undefined>

interface RunJobOptions {
  readonly jobs: JobStore
  readonly lease: JobLease
  readonly handler: JobHandler
  readonly leaseSeconds: number
  readonly log: Logger
  readonly trace?: TraceJob | undefined
}

export function heldJob({ job: { tenantAppId, id }, leaseToken }: JobLease): HeldJob {
  return { tenantAppId, id, leaseToken }
}

/** Runs a handler on a claimed job, extends its lease, and stores the outcome. */
export function runJob(options: RunJobOptions): RunningJob {
  const { jobs, lease, handler, leaseSeconds, log, trace } = options
  const { job } = lease
  const held = heldJob(lease)
  const controller = new AbortController()
  const { signal } = controller
  const heartbeat = setInterval(() => void extend(), (leaseSeconds * 1_000) / 3)
  let expiry = expireIn()

  async function extend(): Promise<void> {
    // Starts before the statement, so that the lease does not expire later here than in the database.
    const next = expireIn()
    try {
      await jobs.extendLease(held, leaseSeconds)
      clearTimeout(expiry)
      expiry = next
    } catch (error) {
      clearTimeout(next)
      if (error instanceof GatewayError) lose(error)
      else log.warn({ err: error, job: job.id }, 'the lease of a job could not be extended; it is tried again')
    }
  }

  function expireIn(): NodeJS.Timeout {
    return setTimeout(() => lose(new Error('The lease could not be extended in time')), leaseSeconds * 1_000)
  }

  function lose(cause: Error): void {
    controller.abort(Object.assign(new Error('The worker no longer holds the job', { cause }), { code: leaseLost }))
  }

  async function attempt(reporter: ReturnType<typeof createReporter>): Promise<object | null> {
    const context = { signal, attempt: job.attempts, progress: reporter.report }
    const result = await handler(job.payload as never, context)
    return result == null ? null : checkResult(result)
  }

  /**
   * The failure of a handler. Functions of Node that take the signal throw their own error, so the reason of the signal
   * is told instead.
   */
  function stopped(error: unknown): Outcome {
    const isAbort = signal.aborted && Object(error).name === 'AbortError'
    return failed(isAbort ? signal.reason : error)
  }

  /** Returns the code of the failure, if the attempt failed. */
  async function run(store = jobs): Promise<string | undefined> {
    const reporter = createReporter(store, held, log)
    try {
      const outcome = await Promise.race([attempt(reporter).then((result) => ({ result }), stopped), abandoned(signal)])
      await reporter.settled()
      await end(store, outcome)
      return 'failure' in outcome ? outcome.failure.code : undefined
    } catch (error) {
      log.error({ err: error, job: job.id }, 'a job could not be ended')
      return 'UNKNOWN'
    } finally {
      clearInterval(heartbeat)
      clearTimeout(expiry)
    }
  }

  /** Stores the outcome. While the database is unavailable it tries again, until the worker loses the lease. */
  async function end(store: JobStore, outcome: Outcome): Promise<void> {
    for (;;) {
      try {
        if ('result' in outcome) await store.complete(held, outcome.result)
        else await store.fail(held, outcome.failure)
        return
      } catch (error) {
        if (!isDatabaseUnavailable(error)) return noteLoss(error)
        if (signal.aborted) return
        await sleep(500)
      }
    }
  }

  function noteLoss(error: unknown): void {
    const details = { err: error, job: job.id, jobType: job.jobType }
    if (!(error instanceof GatewayError)) log.warn(details, 'the outcome of a job could not be stored')
    else if (!signal.aborted || Object(signal.reason).code === leaseLost) {
      log.warn(
        details,
        'the outcome of a job is lost, because its lease had ended: see "Handlers that block" in docs/jobs.md',
      )
    }
  }

  /**
   * Runs the job in a trace. The statements of the heartbeat are not part of it: a long job would have any number of
   * them.
   */
  function runTraced(trace: TraceJob): Promise<string | undefined> {
    const { tenantAppId: tenant, id, jobType, attempts } = job
    const work = { operation: 'process', queue: jobType ?? '', id, tenant, attempt: attempts } as const
    return trace(work, run)
  }

  return { lease, abort: (reason) => controller.abort(reason), ended: trace ? runTraced(trace) : run() }
}

const leaseLost = 'LEASE_LOST'

/** Stores progress, one report at a time. A report that is replaced before it is stored is dropped. */
function createReporter(jobs: JobStore, held: HeldJob, log: Logger) {
  let next: { progress: number; message: string | null } | undefined
  let storing: Promise<void> | undefined
  async function storeAll(): Promise<void> {
    while (next) {
      const { progress, message } = next
      next = undefined
      await jobs.reportProgress(held, progress, message).catch((error: unknown) => {
        log.warn({ err: error, job: held.id }, 'the progress of a job could not be stored')
      })
    }
    storing = undefined
  }
  return {
    report(fraction: number, message?: string) {
      next = { progress: Math.min(Math.max(fraction, 0), 1) || 0, message: progressMessageOf(message) }
      storing ??= storeAll()
    },
    settled: async () => storing,
  }
}

type Outcome = { readonly result: object | null } | { readonly failure: Failure }

function failed(error: unknown): Outcome {
  return { failure: failureOf(error) }
}

/** @throws PermanentError if the result is not a JSON object that can be stored */
function checkResult(result: unknown): object {
  const plain = toJson(result)
  if (!isObject(plain)) throw new PermanentError('The handler must return an object or nothing')
  const { error } = jobResult.safeParse(plain)
  if (error) throw new PermanentError(`The result of the handler ${error.issues[0]?.message}`)
  return plain
}

/** The value as JSON has it: dates become texts. Circular structures cannot be written. */
function toJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch (error) {
    throw new PermanentError('The result of the handler cannot be written as JSON', { cause: error })
  }
}

/** Resolves when a handler was told to stop and has not stopped in time. */
async function abandoned(signal: AbortSignal): Promise<Outcome> {
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => setTimeout(resolve, abortGraceMilliseconds), { once: true })
  })
  return failed(signal.reason)
}
