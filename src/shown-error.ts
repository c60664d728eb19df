import type { Logger } from './context.ts'
import { isDatabaseUnavailable } from './db/availability.ts'
import { clientHasGone, GatewayError } from './errors.ts'

/**
 * What a caller sees of any thrown value, on either face: itself when it was made for a caller. Anything else is logged,
 * whole, and shown without a word of it.
 */
export function toShownError(thrown: unknown, log: Logger): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (isOfOneWhoHasGone(thrown)) return clientHasGone()
  if (isDatabaseUnavailable(thrown)) {
    log.error({ err: thrown }, 'the database is not available')
    return new GatewayError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Try again shortly.')
  }
  log.error({ err: thrown }, 'unexpected error')
  return new GatewayError('INTERNAL', 'Something went wrong on our side. The request id finds it in our log.')
}

/** A statement that is not sent since nobody waits: Prisma Client makes an error of its own of that, and keeps its code. */
function isOfOneWhoHasGone(thrown: unknown): boolean {
  return (thrown as { code?: unknown } | null | undefined)?.code === clientHasGone().code
}
