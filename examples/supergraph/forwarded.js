/** Who calls, which trace it belongs to, and whether it is a repetition. Each subgraph must know all of it. */
export const forwarded = [
  'x-api-key',
  'authorization',
  'idempotency-key',
  'traceparent',
  'tracestate',
  'graphql-client-name',
  'graphql-client-version',
]
