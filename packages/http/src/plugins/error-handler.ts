import { GatewayError } from '@fusion-gateway/base'
import { toHttpError } from '@fusion-gateway/gateway-kit'
import type { FastifyRequest } from 'fastify'
import { plugin } from '../plugin.ts'
import { sendProblem } from '../problem.ts'

/** Responds to errors with problem documents. GraphQL has its own error handler. */
export const errorHandler = plugin('errorHandler', (app) => {
  app.setErrorHandler((error, request, reply) => sendProblem(reply, toHttpError(error, request)))
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, new GatewayError('NOT_FOUND', `There is no such route. ${adviceFor(request)}`)),
  )
})

/** What a client can do whose request names no route. */
function adviceFor({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?')
  if (path === '/graphql/stream') {
    return (
      'Subscribe in the distinct connections mode of graphql-sse: POST /graphql with accept: text/event-stream. ' +
      'The single connection mode is not supported.'
    )
  }
  return 'GraphQL is at /graphql, and /docs lists the routes of REST.'
}
