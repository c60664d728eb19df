import { syncBuiltinESMExports } from 'node:module'
import type { Logger } from '@fusion-gateway/telemetry'
import type { FastifyInstance } from 'fastify'
import type { Logger as PinoLogger } from 'pino'
import type { Worker } from '../domain/job/worker/worker.ts'

/**
 * Further signals within this time belong to the first one: npm passes on a Ctrl-C that this process has received too.
 */
const sameRequestMilliseconds = 500

/** The exit code of a process that Ctrl-C has ended. */
export const interrupted = 130

export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls the listener once, at the next request to stop: the first request stops gracefully, the second one at once. */
export type OnStopRequest = (listener: () => void) => void

/** The requests to stop. A request that nothing waits for yet is kept. */
export function createStopRequests() {
  const listeners: (() => void)[] = []
  let given = 0
  let kept = 0

  return {
    /**
     * Receives a request. Only the first `stop` counts: a signal to all processes and the supervisor's message are one
     * request.
     *
     * @returns whether something waited for it
     */
    receive(request: 'stop' | 'stopAtOnce'): boolean {
      if (request === 'stop' && given > 0) return false
      given += 1
      const listener = listeners.shift()
      if (listener) listener()
      else kept += 1
      return listener !== undefined
    },
    onNext(listener: () => void): void {
      if (kept === 0) {
        listeners.push(listener)
        return
      }
      kept -= 1
      listener()
    },
  }
}

export interface Stopping {
  /** Says that it will stop, and goes on. */
  drain(): unknown
  stop(): unknown
  stopAtOnce(): unknown
}

/**
 * Obeys the signals that tell this process to stop. At SIGTERM, which a platform sends, it drains first: load balancers
 * have `drainMilliseconds` to learn of it. Later signals end that time, and call `stopAtOnce` then. Ctrl-C does not
 * wait.
 *
 * @returns a function that ends this
 */
export function obeySignals(
  signals: readonly NodeJS.Signals[],
  { drain, stop, stopAtOnce }: Stopping,
  drainMilliseconds: number,
): () => void {
  let toldAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  function stopNow(): void {
    clearTimeout(timer)
    timer = undefined
    stop()
  }
  function receive(signal: NodeJS.Signals): void {
    const now = performance.now()
    if (toldAt === undefined) {
      toldAt = now
      if (signal !== 'SIGTERM' || drainMilliseconds === 0) stop()
      else {
        drain()
        timer = setTimeout(stopNow, drainMilliseconds)
      }
    } else if (now - toldAt > sameRequestMilliseconds) {
      if (timer === undefined) stopAtOnce()
      else stopNow()
    }
  }
  for (const signal of signals) process.on(signal, receive)
  return () => {
    for (const signal of signals) process.off(signal, receive)
  }
}

/**
 * Receives the signals that tell this process to stop; SIGHUP comes when its terminal is closed. Called first, so that
 * writes under way finish. A later request that nothing waits for ends the process at once.
 *
 * @param drainMilliseconds see {@link obeySignals}
 * @returns the requests to stop, and a signal that is aborted before, when this process begins to drain
 */
export function receiveStopSignals(drainMilliseconds = 0): {
  readonly onStopRequest: OnStopRequest
  readonly draining: AbortSignal
} {
  const { receive, onNext: onStopRequest } = createStopRequests()
  const draining = new AbortController()
  const stopping = {
    drain: () => draining.abort(),
    stop: () => receive('stop'),
    stopAtOnce() {
      if (!receive('stopAtOnce')) process.exit(interrupted)
    },
  }
  obeySignals(stopSignals, stopping, drainMilliseconds)
  return { onStopRequest, draining: draining.signal }
}

/** The part of the time for stopping that is reserved for closing the database. */
const closingMilliseconds = 1_000

/**
 * How long requests and jobs under way may take to end, in milliseconds, if stopping may take `shutdownMilliseconds`.
 */
export function graceOf(shutdownMilliseconds: number): number {
  return Math.max(0, shutdownMilliseconds - closingMilliseconds)
}

/**
 * Stops answering: accepts no new connections and answers the requests under way. Closes their connections if they take
 * too long, or at the second request to stop.
 *
 * @returns when the last connection is closed
 */
export async function stopResponding(
  app: FastifyInstance,
  shutdownMilliseconds: number,
  onStopRequest: OnStopRequest,
): Promise<void> {
  const closeConnections = () => app.server.closeAllConnections()
  const timer = setTimeout(closeConnections, graceOf(shutdownMilliseconds))
  onStopRequest(closeConnections)
  await app.close()
  clearTimeout(timer)
}

/** Ends the process if stopping takes too long: a database that hangs lets no connection be closed. */
export function exitAtLatest(shutdownMilliseconds: number, log: Logger): void {
  setTimeout(() => {
    log.warn({}, 'not everything could be closed in time')
    process.exit(0)
  }, shutdownMilliseconds).unref()
}

/** Ends the process when the command has set its exit code, whatever is still under way. */
export function exitWhenDone(): void {
  setTimeout(() => process.exit(), 0)
}

/** How long the ends of attempts may take to be recorded. */
const recordMilliseconds = 3_000

/**
 * Ends the process when nothing catches an error, as Node does by default, but with one line in the log instead of a
 * bare stack. The line has the jobs that were running, because most such errors are promises of handlers that nothing
 * awaits. Their attempts are ended before.
 *
 * @param worker ends them, if this process runs jobs
 */
export function exitOnUncaughtError(log: Pick<PinoLogger, 'fatal'>, worker: Pick<Worker, 'crash'> | undefined): void {
  let isEnding = false
  process.on('uncaughtException', (error) => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), recordMilliseconds)
    const { jobs = [], culprit, recorded } = worker?.crash(error) ?? {}
    const message = 'nothing has caught an error: the process ends'
    const details = jobs.length > 0 ? { jobs, ...(culprit && { failedJob: culprit.id }) } : {}
    log.fatal(
      { err: error, ...details },
      jobs.length > 0 ? `${message}. See "Errors that nothing catches" in docs/jobs.md` : message,
    )
    void Promise.resolve(recorded).then(() => process.exit(1))
  })
}

/**
 * Makes `process.exit` throw where a handler calls it, so that the attempt fails like any other, instead of ending the
 * process and the jobs of others without a line. If something else ends the process while jobs run, the log gets a line
 * with the jobs: another worker runs them when their leases have expired.
 */
export function refuseExitOfHandlers(
  log: Pick<PinoLogger, 'fatal'>,
  worker: Pick<Worker, 'isInHandler' | 'running'>,
): void {
  const { exit } = process
  process.exit = (code) => {
    if (!worker.isInHandler()) exit(code)
    const message = `The handler called process.exit(${code ?? ''})`
    throw Object.assign(new Error(message), { code: 'PROCESS_EXIT' })
  }
  // Handlers can have imported it by its name.
  syncBuiltinESMExports()
  // Before the listener that writes the last lines of the log.
  process.prependListener('exit', (code) => {
    const jobs = worker.running()
    if (jobs.length > 0) log.fatal({ jobs, code }, 'the process was ended while jobs ran')
  })
}
