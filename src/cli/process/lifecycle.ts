import type { FastifyInstance } from 'fastify'
import type { Logger } from '../../engine/telemetry/logger.ts'
import type { OnStopRequest } from './stop-requests.ts'

/** The part of the time for stopping that is reserved for closing the database. */
const closingMilliseconds = 1_000

/** How long requests and jobs under way may take, in milliseconds, if stopping may take `shutdownMilliseconds`. */
export function graceOf(shutdownMilliseconds: number): number {
  return Math.max(0, shutdownMilliseconds - closingMilliseconds)
}

/** Ends the process if stopping takes too long: connections to a database that hangs cannot be closed. */
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

/**
 * Stops serving: accepts no new connections and finishes the requests under way. Closes their connections if they take too
 * long, or at the second request to stop.
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
