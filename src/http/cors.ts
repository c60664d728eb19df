import type { FastifyCorsOptions } from '@fastify/cors'

/** The headers that pages may send: those of the gateway, of traces, and those that Apollo's clients add by themselves. */
const allowedHeaders = [
  ...['authorization', 'content-type', 'idempotency-key', 'if-none-match', 'x-api-key', 'x-request-id'],
  ...['traceparent', 'tracestate'],
  'x-graphql-event-stream-token',
  ...['apollo-require-preflight', 'apollographql-client-name', 'apollographql-client-version'],
  ...['x-apollo-operation-id', 'x-apollo-operation-name'],
]

/** The headers of answers that pages may read, besides those that browsers always show. */
const exposedHeaders = [
  ...['allow', 'etag', 'idempotent-replayed', 'link', 'location', 'ratelimit', 'ratelimit-policy', 'retry-after'],
  ...['server-timing', 'www-authenticate', 'x-cost', 'x-request-id'],
]

/**
 * The CORS options for pages of the given origins.
 *
 * @param headers further headers that the pages may send
 */
export function corsOptions(origins: readonly string[], headers: readonly string[] = []): FastifyCorsOptions {
  return {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: [...allowedHeaders, ...headers],
    exposedHeaders,
    maxAge: 600,
  }
}
