import type { Viewer } from '../../auth/viewer.ts'
import type { RequestDatabase } from '../../db/request-database.ts'
import type { LimitName } from '../../limit-names.ts'
import { Held } from '../../limits/places.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Refusal } from '../../telemetry/refusal.ts'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts what a limit refuses before it is a request. */
    countRefusal(limit: LimitName): void
  }
  interface FastifyRequest {
    /** The holder of the API key; null on routes that need none. */
    viewer: Viewer | null
    /** The SQL statements of the request. */
    statements: RequestDatabase
    /** The length of its body, in bytes. */
    bodyLength: number
    /** The limit that has refused the request, or a part of it. */
    refusal: Refusal
    /** What it holds until its response is sent or its client has gone. */
    held: Held
    /** Whether it has several operations, which are logged by themselves. */
    isBatch: boolean
    /** The name of the GraphQL operation, for the log. */
    operationName: string | undefined
  }
}

/** Adds to each request what the gateway knows about it. */
export const requestState = plugin<{ metrics: Metrics }>('requestState', (app, { metrics }) => {
  app.decorate('countRefusal', metrics.countRefusal)
  app.decorateRequest('viewer', null)
  app.decorateRequest('statements')
  app.decorateRequest('bodyLength', 0)
  app.decorateRequest('operationName', undefined)
  app.decorateRequest('isBatch', false)
  app.decorateRequest('refusal')
  app.decorateRequest('held')
  app.addHook('onRequest', (request, reply, done) => {
    const statements: RequestDatabase = { statements: 0, requestId: request.id }
    request.statements = statements
    request.refusal = new Refusal(metrics)
    const held = new Held()
    request.held = held
    reply.raw.once('close', () => {
      // The request of a tool (mcp/call-tool.ts) has no connection that could be cut off.
      statements.isAbandoned = !reply.raw.writableFinished && !('isLightMyRequest' in reply.raw)
      held.end()
    })
    done()
  })
})
