import type { Logger } from './context.ts'
import { isDatabaseUnavailable } from './db/availability.ts'
import { GatewayError } from './errors.ts'

/**
 * What a caller sees of any thrown value, on either face: itself when it was made for a caller. Anything else is logged,
 * whole, and shown without a word of it.
 */
export function toShownError(thrown: unknown, log: Logger): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (isDatabaseUnavailable(thrown)) {
    log.error({ err: thrown }, 'the database is not available')
    return new GatewayError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Try again shortly.')
  }
  log.error({ err: thrown }, 'unexpected error')
  return new GatewayError('INTERNAL', 'Something went wrong on our side. The request id finds it in our log.')
}
