const minute = 60
const hour = 60 * minute

/** How long to wait after each failed attempt, in seconds. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
const maxRetryAfter = 24 * hour

/**
 * How long a delivery waits after a failed attempt, in seconds: at random up to twice the delay of the attempt, and no
 * less than the endpoint asks for.
 *
 * @param attempt its number, from 1
 * @returns null if it was the last attempt
 */
export function retryDelay(attempt: number, pauseSeconds = 0): number | null {
  const delay = delays[attempt - 1]
  return delay === undefined ? null : Math.max(delay * (1 + Math.random()), pauseSeconds)
}

/** How long nothing is sent to an endpoint whose response has this Retry-After, in seconds: at most a day. */
export function pauseOf(retryAfterSeconds = 0): number {
  return Math.min(retryAfterSeconds, maxRetryAfter)
}
