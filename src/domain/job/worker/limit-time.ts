import { abortGraceMilliseconds } from './grace.ts'
import type { JobHandler } from './handler.ts'

/**
 * Limits how long a handler may run. Then its signal aborts, and the attempt fails with TIMEOUT if the handler does not
 * return soon. The code of a handler that ignores the signal runs on, unless the handler is isolated.
 */
export function limitTime(handler: JobHandler, maxSeconds: number): JobHandler {
  return async (payload, context) => {
    const controller = new AbortController()
    const signal = AbortSignal.any([context.signal, controller.signal])
    const abandoned = Promise.withResolvers<never>()
    const timeout = Object.assign(new Error(`The handler ran longer than ${maxSeconds} s`), { code: 'TIMEOUT' })
    const timer = setTimeout(() => {
      controller.abort(timeout)
      setTimeout(() => abandoned.reject(timeout), abortGraceMilliseconds)
    }, maxSeconds * 1_000)
    try {
      return await Promise.race([handler(payload, { ...context, signal }), abandoned.promise])
    } catch (error) {
      throw controller.signal.aborted ? timeout : error
    } finally {
      clearTimeout(timer)
    }
  }
}
