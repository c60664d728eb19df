import { defineConfig } from '@graphql-hive/gateway'
import { forwarded } from './forwarded.js'

export const gatewayConfig = defineConfig({
  supergraph: process.env['SUPERGRAPH'] ?? 'supergraph.graphql',
  propagateHeaders: {
    // A page cannot set the headers of a WebSocket: it sends them as the payload of `connection_init`.
    fromClientToSubgraphs: ({ request, context }) =>
      Object.fromEntries(
        [...request.headers, ...Object.entries(context['connectionParams'] ?? {})].filter(([name]) =>
          forwarded.includes(name.toLowerCase()),
        ),
      ),
    // When a client that has spent its points may ask again.
    fromSubgraphsToClient: ({ response }) => ({ 'retry-after': response.headers.get('retry-after') }),
    deduplicateHeaders: true,
  },
})
