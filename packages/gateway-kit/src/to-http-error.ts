import { clientHasGone, type ErrorCode, GatewayError, type LimitName, ownValue } from '@fusion-gateway/base'
import { toGatewayError } from '@fusion-gateway/telemetry'
import type { FastifyRequest } from 'fastify'

/** Errors of Fastify, by code. Its own messages describe its internals. */
const fastifyErrors: Record<string, readonly [ErrorCode, string, { limit: LimitName }?]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.', { limit: 'body_length' }],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['MALFORMED_REQUEST', 'The length of the body differs from content-length.'],
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'The path is not valid percent-encoding.'],
}

/** The error that a client sees for an error of a request. Notes the limit that has caused it. */
export function toHttpError(error: unknown, request: FastifyRequest): GatewayError {
  const shown = translate(error, request)
  // Undefined if no hook has run.
  request.refusal?.note(shown)
  return shown
}

function translate(error: unknown, request: FastifyRequest): GatewayError {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  const known = code === undefined ? undefined : ownValue(fastifyErrors, code)
  if (known) return new GatewayError(...known)
  // Yoga aborts when the client has gone, and the compression of a response ends.
  const isOfClient = (error as Error).name === 'AbortError' || code === 'ERR_STREAM_PREMATURE_CLOSE'
  if (request.statements?.isAbandoned && isOfClient) return clientHasGone()
  // The socket of the client, not of the database.
  const isCutOff = code === 'ECONNRESET' && request.raw.readableAborted
  if (isCutOff || (statusCode === 400 && code?.startsWith('FST_'))) {
    return new GatewayError('MALFORMED_REQUEST', 'The request could not be read.')
  }
  return toGatewayError(error, request.log)
}
