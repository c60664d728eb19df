import { GatewayError } from '../engine/errors.ts'
import type { TrustedDocuments } from '../engine/graphql/http/trusted-documents.ts'
import { pointsOfLength } from '../engine/graphql/operation/admit.ts'
import type { Preparer } from '../engine/graphql/operation/prepare/prepare.ts'
import { routePlugin } from '../engine/http/plugin.ts'
import { type Authenticate, viewerOf } from '../engine/http/request.ts'
import type { RateLimit } from '../engine/limits/rate-limit.ts'
import { routes } from '../rest/routes.ts'
import { createDocumentTools, queryTool } from './document-tools.ts'
import { createRouteTool } from './route-tools.ts'
import { createSearchTool } from './search-tool.ts'

export interface McpOptions {
  readonly preparer: Preparer
  readonly authenticate: Authenticate
  readonly trustedDocuments?: TrustedDocuments | undefined
  readonly introspection: boolean
  readonly rateLimit: RateLimit
}

/**
 * Serves the Model Context Protocol at /mcp: streamable HTTP without sessions, so any process can serve each message.
 *
 * @see https://modelcontextprotocol.io/specification
 */
export const mcp = routePlugin<McpOptions>(
  'mcp',
  (app, { preparer, authenticate, trustedDocuments, introspection, rateLimit }) => {
    const isOpen = trustedDocuments?.others !== 'reject'
    const all = [
      // The last tool with a name has it: a trusted document replaces none of the others.
      ...createDocumentTools(preparer, trustedDocuments),
      ...routes.map((route) => createRouteTool(route, preparer)),
      ...(isOpen ? [queryTool] : []),
      ...(isOpen && introspection ? [createSearchTool(preparer.schema)] : []),
    ]
    const tools = new Map(all.map((tool) => [tool.name, tool]))

    app.post('/mcp', {
      async onRequest(request, reply) {
        // The protocol requires this. The plugin `cors` has set the header for the origins that it allows.
        if (request.headers.origin !== undefined && !reply.hasHeader('access-control-allow-origin')) {
          throw new GatewayError('FORBIDDEN', 'CORS_ORIGINS lacks the origin of this page.')
        }
        await authenticate(request)
      },
      async handler(request, reply) {
        if (Array.isArray(request.body)) {
          throw new GatewayError(
            'MALFORMED_REQUEST',
            'Batching is not supported. Send each message in its own request.',
          )
        }
        // The request of a tool pays for itself besides.
        const points = pointsOfLength(request.bodyLength)
        if (points > 0) await rateLimit.spend(viewerOf(request), points)
        // The package takes a while to load, and a gateway without clients of MCP does not need it.
        const { respond } = await import('./protocol.ts')
        return respond(tools, request, reply)
      },
    })
  },
)
