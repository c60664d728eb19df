import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../../errors.ts'

/** Refuses WebSockets. Node would ignore the upgrade, and the client would wait for it or see an unrelated error. */
export function refuseWebSockets(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, reply, done) => {
    if (headers.upgrade?.toLowerCase() !== 'websocket') return done()
    // What follows on the connection could be frames.
    reply.header('connection', 'close')
    throw new GatewayError(
      'MALFORMED_REQUEST',
      'WebSockets are not supported. Subscribe with server-sent events: POST /graphql and accept text/event-stream.',
    )
  })
}
