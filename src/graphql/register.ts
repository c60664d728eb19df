import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { contextOf, createAuthenticateHook, type RouteDependencies } from '../http/request.ts'
import { renderGraphiqlPage } from './graphiql.ts'
import { type GraphQLParams, readBodyParams, readQueryParams } from './params.ts'
import { createYogaServer } from './yoga.ts'

export interface GraphQLOptions extends RouteDependencies {
  /** Whether a browser that opens /graphql gets GraphiQL. */
  readonly graphiql: boolean
  /** The key of the demo tenant, filled into GraphiQL for a browser on this machine. */
  readonly demoKey?: string | undefined
}

const ofTheConnection = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'cache-control',
])

/** Serves /graphql: queries and mutations for clients, GraphiQL for a browser. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { services, meter, graphiql, demoKey } = options
  const yoga = createYogaServer(app.log)
  const authenticate = createAuthenticateHook(options)

  // One buffer for everybody: the page has 9 MB, and a slow reader would hold a copy of its own.
  const pages = new Map<string | undefined, Promise<Buffer>>()
  function page(apiKey: string | undefined): Promise<Buffer> {
    const rendered = pages.get(apiKey) ?? renderGraphiqlPage(apiKey).then((html) => Buffer.from(html))
    pages.set(apiKey, rendered)
    return rendered
  }

  async function answer(request: FastifyRequest, reply: FastifyReply, params: GraphQLParams): Promise<FastifyReply> {
    const aborted = new AbortController()
    reply.raw.once('close', () => {
      // Aborting costs an error with a stack: not where the answer was sent whole.
      if (!reply.raw.writableFinished) aborted.abort()
    })
    const response = await meter.run(request.sqlCount, () =>
      yoga.fetch(
        'http://gateway/graphql',
        { method: request.method, headers: request.headers as Record<string, string>, signal: aborted.signal },
        {
          params,
          gateway: contextOf(request, services),
          // A key that was revoked gets no more events.
          subscriber: { signal: aborted.signal, checkKey: () => authenticate(request) },
          onOperation(name) {
            request.operation = name
          },
        },
      ),
    )
    reply.code(response.status)
    // How the answer is sent is Fastify's to say.
    for (const [name, value] of response.headers)
      if (!ofTheConnection.has(name.toLowerCase())) reply.header(name, value)
    const { body } = response
    // Events are sent as they come; any other answer is whole, and not worth a stream.
    if (body && isEventStream(response)) return reply.header('x-accel-buffering', 'no').send(body)
    return reply.send(await response.text())
  }

  app.get('/graphql', {
    async onRequest(request) {
      if (!(graphiql && wantsPage(request))) await authenticate(request)
    },
    async handler(request, reply) {
      if (!request.viewer) {
        return reply.type('text/html; charset=utf-8').send(await page(isFromThisMachine(request) ? demoKey : undefined))
      }
      return answer(request, reply, readQueryParams(request.query as Record<string, unknown>))
    },
  })

  app.post('/graphql', {
    onRequest: authenticate,
    handler: (request, reply) => {
      if (request.body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
      return answer(request, reply, readBodyParams(request.body))
    },
  })
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

/** A browser that navigates: it accepts HTML, and has no way to send a key. */
function wantsPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html') && headers['x-api-key'] === undefined
}

/**
 * Whether the request comes from this machine and was addressed to it. The second half keeps out a web page elsewhere
 * that has had its own name resolved to 127.0.0.1.
 */
function isFromThisMachine({ ip, hostname }: FastifyRequest): boolean {
  const isLoopback = (address: string) =>
    /^(127\.\d+\.\d+\.\d+|::1|\[::1\]|::ffff:127\.\d+\.\d+\.\d+|localhost)$/.test(address)
  return isLoopback(ip) && isLoopback(hostname)
}
