import type { Logger } from 'pino'
import type { Worker } from '../../domain/job/worker/worker.ts'

/** How long the ends of attempts may take to be recorded. */
const recordMilliseconds = 3_000

/**
 * Ends the process when nothing catches an error, as Node does by default, but with one line in the log instead of a
 * bare stack. The line has the jobs that were running, because most such errors are promises of handlers that nothing
 * awaits. Their attempts are ended before.
 *
 * @param crash ends them, if this process runs jobs
 */
export function exitOnUncaughtError(log: Logger, crash: Worker['crash'] | undefined): void {
  let isEnding = false
  process.on('uncaughtException', (error) => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), recordMilliseconds)
    const { jobs = [], culprit, recorded } = crash?.(error) ?? {}
    const message = 'nothing has caught an error: the process ends'
    const details = jobs.length > 0 ? { jobs, ...(culprit && { failedJob: culprit.id }) } : {}
    log.fatal(
      { err: error, ...details },
      jobs.length > 0 ? `${message}. See "Errors that nothing catches" in docs/jobs.md` : message,
    )
    void Promise.resolve(recorded).then(() => process.exit(1))
  })
}
