import type { Viewer } from '../../auth/viewer.ts'
import type { StatementCount } from '../../db/statement-meter.ts'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the API key; null on routes that need none. */
    viewer: Viewer | null
    /** The SQL statements of the request. */
    statements: StatementCount
    /** The length of its body, in bytes. */
    bodyLength: number
    /** The name of the GraphQL operation, for the log. */
    operationName: string | undefined
  }
}

/** Adds to each request what the gateway knows about it. */
export const requestState = plugin('requestState', (app) => {
  app.decorateRequest('viewer', null)
  app.decorateRequest('statements')
  app.decorateRequest('bodyLength', 0)
  app.decorateRequest('operationName', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    const statements: StatementCount = { statements: 0, requestId: request.id }
    request.statements = statements
    reply.raw.once('close', () => {
      // The request of a tool (mcp/call-tool.ts) has no connection that could be cut off.
      statements.isAbandoned = !reply.raw.writableFinished && !('isLightMyRequest' in reply.raw)
    })
    done()
  })
})
