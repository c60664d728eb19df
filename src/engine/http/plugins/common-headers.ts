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

/**
 * Tells clients with a key how long their response took, and how many SQL statements it needed. Browsers show the
 * header in their developer tools. A response that is sent in parts has none, because its headers are sent first.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
export const serverTiming = plugin('serverTiming', (app) => {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.viewer && typeof payload === 'string') {
      const { statements } = request.statements
      const db = `db;desc="${statements} ${statements === 1 ? 'statement' : 'statements'}"`
      reply.header('server-timing', `total;dur=${reply.elapsedTime.toFixed(1)}, ${db}`)
    }
    done()
  })
})
