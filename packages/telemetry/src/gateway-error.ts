import { clientHasGone, GatewayError } from '@fusion-gateway/base'
import { isDatabaseUnavailable } from '@fusion-gateway/sql'
import type { Logger } from './logger.ts'

/**
 * The error that a client sees for any thrown value. Errors that are not for clients are logged whole and shown without
 * details.
 */
export function toGatewayError(thrown: unknown, log: Logger): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (isClientGone(thrown)) return clientHasGone()
  if (isDatabaseUnavailable(thrown)) {
    log.error({ err: thrown }, 'the database is unavailable')
    return new GatewayError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Try again shortly.')
  }
  log.error({ err: thrown }, 'unexpected error')
  return new GatewayError('INTERNAL', 'The gateway failed. Its log has the details under the request id.')
}

/** Prisma Client wraps the error of a statement that was not sent because the client has gone, and keeps its code. */
function isClientGone(thrown: unknown): boolean {
  return (thrown as { code?: unknown } | null | undefined)?.code === clientHasGone().code
}
