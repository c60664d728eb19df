/** Further signals within this time belong to the first one: npm passes on a Ctrl-C that this process has received too. */
const sameRequestMilliseconds = 500

/** The exit code of a process that Ctrl-C has ended. */
const interrupted = 130

/** Calls the listener once, at the next request to stop: the first request stops gracefully, the second one at once. */
export type OnStopRequest = (listener: () => void) => void

/** The requests to stop. A request that nothing waits for yet is kept. */
export interface StopRequests {
  readonly onNext: OnStopRequest
  /**
   * Receives a request. Only the first `stop` counts: a signal to all processes and the supervisor's message are one request.
   *
   * @returns whether something waited for it
   */
  receive(request: 'stop' | 'stopAtOnce'): boolean
}

export function createStopRequests(): StopRequests {
  const listeners: (() => void)[] = []
  let given = 0
  let kept = 0

  return {
    receive(request) {
      if (request === 'stop' && given > 0) return false
      given += 1
      const listener = listeners.shift()
      if (listener) listener()
      else kept += 1
      return listener !== undefined
    },
    onNext(listener) {
      if (kept === 0) {
        listeners.push(listener)
        return
      }
      kept -= 1
      listener()
    },
  }
}

/** Calls `stop` at the first of these signals, and `stopAtOnce` at later ones. */
export function obeySignals(
  signals: readonly NodeJS.Signals[],
  { stop, stopAtOnce }: { stop(): unknown; stopAtOnce(): unknown },
): void {
  let toldAt: number | undefined
  function receive(): void {
    const now = performance.now()
    toldAt ??= now
    if (toldAt === now) stop()
    else if (now - toldAt > sameRequestMilliseconds) stopAtOnce()
  }
  for (const signal of signals) process.on(signal, receive)
}

/**
 * Receives the signals that tell this process to stop; SIGHUP comes when its terminal is closed. Called first, so that writes under way
 * finish. A later request that nothing waits for ends the process at once.
 */
export function receiveStopSignals(): OnStopRequest {
  const { receive, onNext } = createStopRequests()
  obeySignals(['SIGINT', 'SIGTERM', 'SIGHUP'], {
    stop: () => receive('stop'),
    stopAtOnce() {
      if (!receive('stopAtOnce')) process.exit(interrupted)
    },
  })
  return onNext
}
