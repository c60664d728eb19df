import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError, errorCodes } from './errors.ts'
import { toShownError } from './graphql/caller-error.ts'
import { errorHeaders, sendProblem } from './rest/problem.ts'

/** What Fastify itself refuses, by its error codes. Its messages speak of its own insides, so ours replace them. */
const refusals: Record<string, readonly [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'The body may have at most 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['MALFORMED_REQUEST', 'The body is not as long as content-length says.'],
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'The path is not valid percent-encoding.'],
}

/** Answers every error: in GraphQL's form on /graphql, as a problem document anywhere else. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(toRefusal(error, request), request, reply))

  app.setNotFoundHandler((request, reply) =>
    answerError(new GatewayError('NOT_FOUND', 'There is no such route.'), request, reply),
  )
}

/** Answers a request whose URL Fastify could not even route; its hooks have not run. */
export function answerBadUrl(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return answerError(toRefusal(error, request), request, reply)
}

/** Answers every method that a path does not have: 405 with those it has. To be called when all routes are there. */
export function refuseOtherMethods(app: FastifyInstance, routes: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [url, allowed] of routes) {
    app.route({
      method: app.supportedMethods.filter((method) => !allowed.has(method)),
      url,
      handler: (request, reply) => {
        reply.header('allow', [...allowed].join(', '))
        return answerError(
          new GatewayError('METHOD_NOT_ALLOWED', `Allowed here: ${[...allowed].join(', ')}.`),
          request,
          reply,
        )
      },
    })
  }
}

function toRefusal(error: unknown, request: FastifyRequest): GatewayError {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  const refusal = code === undefined ? undefined : refusals[code]
  if (refusal) return new GatewayError(...refusal)
  if (statusCode === 400 && code?.startsWith('FST_')) {
    return new GatewayError('MALFORMED_REQUEST', 'The request could not be read.')
  }
  return toShownError(error, request.log)
}

function answerError(error: GatewayError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!isGraphQL(request)) return sendProblem(reply, error)
  return reply
    .code(errorCodes[error.code].status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [{ message: error.message, extensions: { code: error.code } }] }))
}

function isGraphQL({ url }: FastifyRequest): boolean {
  return url === '/graphql' || url.startsWith('/graphql?')
}
