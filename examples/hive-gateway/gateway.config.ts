import { defineConfig } from '@graphql-hive/gateway'

/** Who calls by which client, which trace it belongs to, whether it is a repetition, and whether the client follows the log. */
const forwarded = [
  'x-api-key',
  'authorization',
  'graphql-client-name',
  'graphql-client-version',
  'apollographql-client-name',
  'apollographql-client-version',
  'traceparent',
  'tracestate',
  'idempotency-key',
  'x-position',
]

export const gatewayConfig = defineConfig({
  proxy: { endpoint: process.env['FUSION_URL'] ?? 'http://127.0.0.1:4000/graphql' },
  // With a file, INTROSPECTION can stay off.
  schema: '../../schema.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) =>
      Object.fromEntries([...request.headers].filter(([name]) => forwarded.includes(name))),
  },
})
