/** How long a handler may take to stop: less than the process then has (server/stop.ts). */
export const abortGraceMilliseconds = 500

/** The second argument of a handler. */
export interface JobContext {
  /** Aborts when the job is cancelled, its lease expires, its maximum run time is over, or the worker stops. */
  readonly signal: AbortSignal
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Reports the progress, from 0 to 1, and what the handler is doing. Subscribers see both. */
  progress(fraction: number, message?: string): void
}

/**
 * Does the work of one type of job.
 *
 * @returns the result of the job: an object, or nothing
 * @throws PermanentError if another attempt would fail too; after any other error the job is tried again, with
 *   back-off, and no earlier than after its `retryAfterSeconds` if it has them, at most a day
 */
export type JobHandler = (payload: never, context: JobContext) => unknown

export type JobHandlers = ReadonlyMap<string, JobHandler>

/** Thrown by a handler if another attempt would fail too. The job fails at once. */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
}

/**
 * What a file of handlers can export next to them. Each is a value for all of its handlers, or an object with values by
 * type.
 */
export interface HandlerOptions {
  /** Whether each job runs in a thread of its own, in which the handler may block the event loop. */
  readonly isolated?: boolean | Readonly<Record<string, boolean>>
  /** How long an attempt may take before TIMEOUT: an hour for isolated handlers, by default no limit for others. */
  readonly maxSeconds?: number | Readonly<Record<string, number>>
  /** How much memory the thread of an isolated handler may take for objects. 512 MiB by default. */
  readonly maxMemoryMib?: number | Readonly<Record<string, number>>
}
