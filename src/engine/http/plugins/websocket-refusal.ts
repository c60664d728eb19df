import { GatewayError } from '../../errors.ts'
import { plugin } from '../plugin.ts'

/** Refuses WebSockets. Node would ignore the upgrade, and the client would wait for it or see an unrelated error. */
export const websocketRefusal = plugin('websocketRefusal', (app) => {
  app.addHook('onRequest', ({ headers }, reply, done) => {
    if (headers.upgrade?.toLowerCase() !== 'websocket') return done()
    // What follows on the connection could be frames.
    reply.header('connection', 'close')
    throw new GatewayError(
      'MALFORMED_REQUEST',
      'WebSockets are not supported. Subscribe with server-sent events: POST /graphql and accept text/event-stream.',
    )
  })
})
