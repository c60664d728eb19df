import type { FastifyReply } from 'fastify'
import { plugin } from '../plugin.ts'

/** Sets the headers of every response. */
export const commonHeaders = plugin('commonHeaders', (app) => {
  app.addHook('onRequest', (_request, reply, done) => {
    setCommonHeaders(reply)
    done()
  })
})

/** Sets them on a response to a request for which no hook runs. */
export function setCommonHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'x-request-id': reply.request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
}
