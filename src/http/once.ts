import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import type { OnceOnly } from '../graphql/execute-once.ts'
import type { Services } from '../services.ts'

/**
 * How a request wants to be answered once: by its header `Idempotency-Key`.
 *
 * @param asked what is asked: with the same key it must be the same
 * @returns undefined without the header
 * @throws GatewayError MALFORMED_REQUEST when it is no key
 */
export function onceOf(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
  asked: unknown,
): OnceOnly | undefined {
  const idempotencyKey = request.headers['idempotency-key']
  if (idempotencyKey === undefined) return undefined
  if (typeof idempotencyKey !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new GatewayError('MALFORMED_REQUEST', 'The header idempotency-key takes 1 to 255 visible ASCII characters.')
  }
  return {
    idempotency: services.idempotency,
    idempotencyKey,
    request: `${request.method} ${request.url}\n${JSON.stringify(asked)}`,
    onReplay: () => void reply.header('idempotent-replayed', 'true'),
  }
}
