import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'

/** 1 to 255 visible ASCII characters. */
export const idempotencyKeyPattern = /^[!-~]{1,255}$/

/**
 * Reads the header `Idempotency-Key`.
 *
 * @param content the content of the request. Requests with the same key must be equal
 * @returns the key and the request as text; undefined without the header
 * @throws GatewayError MALFORMED_REQUEST if the header is not a key
 */
export function readIdempotencyKey({ method, url, headers }: FastifyRequest, content: unknown) {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !idempotencyKeyPattern.test(key)) {
    throw new GatewayError('MALFORMED_REQUEST', 'The header idempotency-key takes 1 to 255 visible ASCII characters.')
  }
  return { key, request: `${method} ${url}\n${JSON.stringify(content)}` }
}
