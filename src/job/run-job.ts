import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../context.ts'
import { isDatabaseUnavailable } from '../db/availability.ts'
import { isConflict } from '../db/violations.ts'
import { GatewayError } from '../errors.ts'
import { type JobHandler, PermanentError } from './handler.ts'
import {
  completeJob,
  extendJobLease,
  type Failure,
  failJob,
  type JobLease,
  maxCodeLength,
  maxMessageLength,
  reportJobProgress,
} from './job.lease.ts'
import { jobObjectRule } from './job.service.ts'
import type { JobStore } from './job.store.ts'

/** A job that a handler of this process works on. */
export interface RunningJob {
  readonly lease: JobLease
  /** Tells the handler to stop. */
  abort(reason: Error): void
  /** Resolves when the job is no longer this worker's. Never rejects. */
  readonly ended: Promise<void>
}

interface RunJobOptions {
  readonly store: JobStore
  readonly lease: JobLease
  readonly handler: JobHandler
  readonly leaseSeconds: number
  readonly log: Logger
}

/** How long a handler that was told to stop may take to do so; after that nobody waits for it any more. */
const abortGraceMilliseconds = 2_000

/** Runs a handler on a job that was claimed, keeps its lease, and writes down what came of it. */
export function runJob({ store, lease, handler, leaseSeconds, log }: RunJobOptions): RunningJob {
  const { job, leaseToken } = lease
  const held = { tenantAppId: job.tenantAppId, id: job.id, leaseToken }
  const controller = new AbortController()
  const { signal } = controller
  const heartbeat = setInterval(() => void keep(), (leaseSeconds * 1_000) / 3)
  let expiry = expireIn()
  const reporter = createReporter()

  async function keep(): Promise<void> {
    // Counted from before it is asked for, so that it does not run out here later than in the database.
    const next = expireIn()
    try {
      await extendJobLease(store, held, leaseSeconds)
      clearTimeout(expiry)
      expiry = next
    } catch (error) {
      clearTimeout(next)
      // When the database is away for a moment, there is time until the lease runs out.
      if (error instanceof GatewayError) lose(error)
    }
  }

  function expireIn(): NodeJS.Timeout {
    return setTimeout(() => lose(new Error('It could not be extended in time')), leaseSeconds * 1_000)
  }

  function lose(cause: Error): void {
    controller.abort(Object.assign(new Error('The job is no longer held', { cause }), { code: 'LEASE_LOST' }))
  }

  /** Writes the latest report, one at a time; what was overtaken meanwhile is never written. */
  function createReporter() {
    let next: { progress: number; message: string | null } | undefined
    let writing: Promise<void> | undefined
    async function write(): Promise<void> {
      while (next) {
        const report = next
        next = undefined
        await reportJobProgress(store, held, report).catch((error: unknown) => {
          log.warn({ err: error, job: job.id }, 'the progress of a job could not be written')
        })
      }
      writing = undefined
    }
    return {
      report(fraction: number, message?: string) {
        next = { progress: Math.min(Math.max(fraction, 0), 1) || 0, message: message ?? null }
        writing ??= write()
      },
      settled: async () => writing,
    }
  }

  async function attempt(): Promise<object | null> {
    const context = { signal, attempt: job.attempts, progress: reporter.report }
    const result = await handler(job.payload as never, context)
    if (result === undefined || result === null) return null
    return checkResult(result)
  }

  async function run(): Promise<void> {
    try {
      const outcome = await Promise.race([attempt().then(succeeded, failed), abandoned(signal)])
      await reporter.settled()
      await settle(outcome)
    } catch (error) {
      log.error({ err: error, job: job.id }, 'a job could not be ended')
    } finally {
      clearInterval(heartbeat)
      clearTimeout(expiry)
    }
  }

  /**
   * A result must not be lost since the database is away for a moment: it is written as soon as it is back. Whoever was
   * told to stop holds the job no longer, or is on the way out.
   */
  async function settle(outcome: Outcome): Promise<void> {
    for (;;) {
      try {
        if ('result' in outcome) await completeJob(store, held, outcome.result)
        else await failJob(store, held, outcome.failure)
        return
      } catch (error) {
        if (signal.aborted) return
        if (!isDatabaseUnavailable(error) && !isConflict(error)) {
          log.warn({ err: error, job: job.id }, 'what came of a job could not be written')
          return
        }
        await sleep(500)
      }
    }
  }

  return { lease, abort: (reason) => controller.abort(reason), ended: run() }
}

type Outcome = { readonly result: object | null } | { readonly failure: Failure }

function succeeded(result: object | null): Outcome {
  return { result }
}

/** Whatever a handler throws: it need not be an error, nor an error be as errors are. */
function failed(error: unknown): Outcome {
  const { name, message, code } = Object(error) as { name?: unknown; message?: unknown; code?: unknown }
  const text =
    [message, error].find((value) => typeof value === 'string') ?? 'The handler threw something that is no error'
  const word = [code, name].find((value) => typeof value === 'string' && value !== '') ?? 'Error'
  return {
    failure: {
      code: String(word).slice(0, maxCodeLength),
      message: String(text).slice(0, maxMessageLength),
      retryable: name !== 'PermanentError',
    },
  }
}

/** @throws PermanentError when it is no JSON object, or one that could not be read again */
function checkResult(result: unknown): object {
  const plain = toPlain(result)
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    throw new PermanentError('The handler returned something other than an object')
  }
  const refusal = jobObjectRule(plain)
  if (refusal) throw new PermanentError(`The handler returned an object that ${refusal.message}`)
  return plain
}

/** What JSON makes of a value: a date is a text there, and a ring is nothing at all. */
function toPlain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch (error) {
    throw new PermanentError('The handler returned something that JSON cannot hold', { cause: error })
  }
}

/** Resolves when a handler that was told to stop has not done so in time. */
async function abandoned(signal: AbortSignal): Promise<Outcome> {
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => setTimeout(resolve, abortGraceMilliseconds), { once: true })
  })
  return failed(signal.reason)
}
