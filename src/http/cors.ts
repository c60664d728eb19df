import type { FastifyCorsOptions } from '@fastify/cors'

/** The CORS options for pages of the given origins. */
export function corsOptions(origins: readonly string[]): FastifyCorsOptions {
  return {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT'],
    allowedHeaders: ['content-type', 'idempotency-key', 'x-api-key', 'x-request-id'],
    exposedHeaders: [
      'idempotent-replayed',
      'link',
      'location',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-cost',
      'x-request-id',
    ],
    maxAge: 600,
  }
}
