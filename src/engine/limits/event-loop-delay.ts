import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMilliseconds = 10
const intervalMilliseconds = 1_000

/**
 * Measures the delay of the event loop every second. The event loop counts as late after two late seconds in a row,
 * because a single long step is over when it is noticed.
 *
 * @param maxMilliseconds the maximum mean delay
 */
export function watchEventLoop(maxMilliseconds: number) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds })
  delay.enable()
  let lateSeconds = 0
  let checkedAt = performance.now()
  const timer = setInterval(() => {
    const elapsed = performance.now() - checkedAt
    checkedAt += elapsed
    // There is no sample if the loop was blocked for the whole interval.
    const mean = delay.count > 0 ? delay.mean / 1e6 - resolutionMilliseconds : elapsed
    delay.reset()
    lateSeconds = mean > maxMilliseconds ? lateSeconds + 1 : 0
  }, intervalMilliseconds).unref()
  return {
    isLate: () => lateSeconds >= 2,
    stop(): void {
      clearInterval(timer)
      delay.disable()
    },
  }
}
