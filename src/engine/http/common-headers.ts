import type { FastifyReply } from 'fastify'

/** Sets the headers of every answer. */
export function setCommonHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'x-request-id': reply.request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
}
