/** The second argument of a handler. */
export interface JobContext {
  /** Aborts when the job is cancelled, its lease expires, or the worker stops. */
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
 * @throws PermanentError if another attempt would fail too; after any other error the job is tried again, with back-off, and no earlier than
 *   after its `retryAfterSeconds` if it has them, at most a day
 */
export type JobHandler = (payload: never, context: JobContext) => unknown

export type JobHandlers = ReadonlyMap<string, JobHandler>

/** Thrown by a handler if another attempt would fail too. The job fails at once. */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
}
