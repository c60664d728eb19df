import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Viewer } from '../auth/viewer.ts'
import { runAttributed, type StatementMeter } from '../db/statement-meter.ts'

/** Authenticates a request and sets its viewer. */
export type Authenticate = (request: FastifyRequest) => Promise<Viewer>

/**
 * Creates the authentication of requests. Routes call it before the body is read, so that a client without a key cannot make
 * the gateway read one.
 *
 * @throws GatewayError UNAUTHENTICATED, MALFORMED_REQUEST
 */
export function createAuthenticate(authenticator: Authenticator, meter: StatementMeter): Authenticate {
  return async (request) => {
    const { 'x-api-key': header, authorization } = request.headers
    const apiKey = Array.isArray(header) ? header[0] : header
    // Other requests may wait for the same key, so it is read even if this client goes.
    request.viewer = await runAttributed(meter, request.statements, () =>
      authenticator.authenticate({ apiKey, authorization }),
    )
    return request.viewer
  }
}
