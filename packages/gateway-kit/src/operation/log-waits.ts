/** How long requests do not wait for the log of a server that has failed. Their reads can use a replica meanwhile. */
const pauseMilliseconds = 5_000

interface Failure {
  readonly at: number
  /** Whether one check tries whether the log can be read again. */
  isTried: boolean
}

/**
 * Creates the bounds of the waits for the log of events. A request that cannot wait reads its rows, as it would without
 * memory. After a check that fails or takes too long, no request waits for the log of the same server, whatever its
 * tenant. After a pause one check tries again, while the others go on. A check that was only late ends the pause.
 *
 * @param waitMilliseconds how long a request waits
 */
export function createLogWaits(waitMilliseconds: number) {
  const failures = new Map<string, Failure>()
  return {
    /** Whether requests may wait for the log of a server. */
    mayWait(server: string): boolean {
      const failure = failures.get(server)
      return !failure || (!failure.isTried && performance.now() - failure.at >= pauseMilliseconds)
    },

    /**
     * Waits for a check of the log of a server.
     *
     * @throws if the check fails, or has not ended in time; it goes on then
     */
    async wait(server: string, check: () => Promise<void>): Promise<void> {
      const failure = failures.get(server)
      if (failure) failure.isTried = true
      const running = check()
      running.then(
        () => failures.delete(server),
        () => undefined,
      )
      try {
        await within(running, waitMilliseconds)
      } catch (error) {
        failures.set(server, { at: performance.now(), isTried: false })
        throw error
      }
    },
  }
}

function within(check: Promise<void>, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('The log of events was not read in time'))
    // If this process itself was late, the result has arrived, and setImmediate runs after it is read.
    const timer = setTimeout(() => setImmediate(giveUp), milliseconds)
    check.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
