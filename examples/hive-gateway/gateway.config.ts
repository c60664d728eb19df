import { defineConfig } from '@graphql-hive/gateway'

/** Who calls, which trace it belongs to, and whether it is a repetition. The gateway must know all of it. */
const forwarded = ['x-api-key', 'authorization', 'idempotency-key', 'traceparent', 'tracestate']

export const gatewayConfig = defineConfig({
  proxy: { endpoint: process.env['FUSION_URL'] ?? 'http://127.0.0.1:4000/graphql' },
  // With a file, INTROSPECTION can stay off.
  schema: '../../schema.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) =>
      Object.fromEntries([...request.headers].filter(([name]) => forwarded.includes(name))),
  },
})
