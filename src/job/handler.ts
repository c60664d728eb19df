/** What a handler is given besides the payload. */
export interface JobContext {
  /** Aborts when the job was called off, its lease was lost, or the worker stops. */
  readonly signal: AbortSignal
  /** Which attempt this is: 1 for the first. */
  readonly attempt: number
  /** Tells those who follow the job how far it has come: from 0 to 1, and where it stands, in words. */
  progress(fraction: number, message?: string): void
}

/**
 * Works on the jobs of one type.
 *
 * @returns the job's result: an object, or nothing
 * @throws PermanentError when another attempt would not help; whatever else it throws is tried again, with back-off
 */
export type JobHandler = (payload: never, context: JobContext) => unknown

/** The handlers of a worker, by job type. */
export type JobHandlers = ReadonlyMap<string, JobHandler>

/** Thrown by a handler when another attempt would not help: the job is given up at once. */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
}
