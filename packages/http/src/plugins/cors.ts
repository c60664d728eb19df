import fastifyCors from '@fastify/cors'
import { plugin } from '../plugin.ts'

export interface CorsOptions {
  /** Such as `https://app.example.com`, or `http://localhost:*` for every port. None by default. */
  readonly origins: readonly string[]
  readonly headers?: readonly string[] | undefined
}

/**
 * The headers that pages may send: those of the gateway, of traces, and those that clients of Apollo and MCP add by
 * themselves.
 */
const allowedHeaders = [
  'authorization, cache-control, content-type, idempotency-key, if-match, if-none-match, prefer',
  'x-api-key, x-position, x-request-id',
  'traceparent, tracestate, baggage, sentry-trace',
  'apollo-require-preflight, apollographql-client-name, apollographql-client-version',
  'graphql-client-name, graphql-client-version',
  'x-apollo-operation-id, x-apollo-operation-name, mcp-method, mcp-name, mcp-protocol-version',
]

/** The headers of responses that pages may read, besides those that browsers always show. */
const exposedHeaders =
  'allow, cache-status, deprecation, etag, idempotent-replayed, link, location, preference-applied, ratelimit, ratelimit-policy, retry-after, ' +
  'server-timing, sunset, www-authenticate, x-cost, x-cost-requested, x-ignored-parameters, x-request-id'

/** How long a browser remembers what a page may send, in seconds. */
const maxAgeSeconds = 600

/** Lets pages of other origins call the gateway. @see https://fetch.spec.whatwg.org/#http-cors-protocol */
export const cors = plugin<CorsOptions>('cors', (app, { origins, headers = [] }) => {
  const allowed = new Set(origins)
  const isAllowed = (origin: string) => allowed.has(origin) || allowed.has(`${origin.replace(/:\d+$/, '')}:*`)
  let isRefusalLogged = false

  app.addHook('onRequest', (request, _reply, done) => {
    const { origin, 'access-control-request-method': requested } = request.headers
    if (origin !== undefined && requested !== undefined && !isRefusalLogged && !isAllowed(origin)) {
      request.log.warn(
        { origin: origin.slice(0, 100) },
        'a page may not call the gateway: CORS_ORIGINS lacks its origin',
      )
      isRefusalLogged = true
    }
    done()
  })
  if (origins.length === 0) return
  app.register(fastifyCors, {
    origin: (origin, respond) => respond(null, origin !== undefined && isAllowed(origin)),
    methods: 'GET, HEAD, POST, PUT, DELETE',
    allowedHeaders: [...allowedHeaders, ...headers],
    exposedHeaders,
    maxAge: maxAgeSeconds,
    strictPreflight: false,
  })
})
