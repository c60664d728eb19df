import type { FastifyInstance } from 'fastify'
import type { Logger } from './context.ts'

/** So much of the time for stopping is kept for closing what requests and jobs were using. */
const closingMilliseconds = 1_000

/** Resolves when the process is told to stop: SIGINT or SIGTERM. To be called first of all, so that none is missed. */
export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
  })
}

/** How long what is under way may take to end, in milliseconds, when stopping may take so long altogether. */
export function graceOf(shutdownMilliseconds: number): number {
  return Math.max(0, shutdownMilliseconds - closingMilliseconds)
}

/** Ends the process when stopping takes longer than it may: a database that is frozen lets no connection be closed. */
export function exitAtLatest(shutdownMilliseconds: number, log: Logger): void {
  setTimeout(() => {
    log.warn({}, 'not everything could be closed in time')
    process.exit(0)
  }, shutdownMilliseconds).unref()
}

/** Ends the process when the command has said how it went, whatever is still being tried. */
export function exitOnceDone(): void {
  setTimeout(() => process.exit(), 0)
}

/**
 * Stops answering: no new connection is taken, what is under way is answered, and what takes longer than it may, or is
 * there still at the second signal, is cut.
 *
 * @returns when the last connection is closed
 */
export async function stopAnswering(app: FastifyInstance, shutdownMilliseconds: number): Promise<void> {
  const cut = () => app.server.closeAllConnections()
  const timer = setTimeout(cut, graceOf(shutdownMilliseconds))
  process.once('SIGINT', cut).once('SIGTERM', cut)
  await app.close()
  clearTimeout(timer)
}
