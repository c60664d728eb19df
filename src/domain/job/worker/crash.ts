import type { Failure } from '../store/failure.ts'
import { failureOf } from './outcome.ts'

/** The failure of the job whose handler has left an error uncaught. Another attempt would end the worker again. */
export function uncaughtFailure(error: unknown): Failure {
  const { message } = failureOf(error)
  const text = `The handler left an error uncaught, which ended the worker: ${message}`
  return { ...failureOf({ message: text }), code: 'UNCAUGHT_ERROR', isRetryable: false }
}

/** The failure of another job of a worker that such an error has ended. */
export const workerCrashed: Failure = {
  code: 'WORKER_CRASHED',
  message: 'An error that was not caught ended the worker.',
  isRetryable: true,
}
