import { createTokenHandler, type TokenHandlerOptions } from '@fusion-gateway/client/server'
import Fastify, { type FastifyInstance } from 'fastify'

/** Creates a backend that answers `POST /token` with an access token for the person who is signed in. */
export function createTokenBackend(options: TokenHandlerOptions): FastifyInstance {
  const handle = createTokenHandler(options)
  const app = Fastify()
  app.post('/token', ({ url, headers }) =>
    handle(new Request(new URL(url, 'http://backend'), { method: 'POST', headers: headers as Record<string, string> })),
  )
  return app
}
