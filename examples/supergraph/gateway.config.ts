import { defineConfig } from '@graphql-hive/gateway'

/** Who calls, which trace it belongs to, and whether it is a repetition. Each subgraph must know all of it. */
const forwarded = [
  'x-api-key',
  'authorization',
  'idempotency-key',
  'traceparent',
  'tracestate',
  'graphql-client-name',
  'graphql-client-version',
]

export const gatewayConfig = defineConfig({
  supergraph: process.env['SUPERGRAPH'] ?? 'supergraph.graphql',
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) =>
      Object.fromEntries([...request.headers].filter(([name]) => forwarded.includes(name))),
  },
})
