import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../auth/viewer.ts'
import { type Context, createContext, type Services } from '../context.ts'
import type { StatementCount } from '../db/statement-meter.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the API key; null on routes that need none. */
    viewer: Viewer | null
    /** The SQL statements of the request. */
    statements: StatementCount
    /** The name of the GraphQL operation, for the log. */
    operationName: string | undefined
    /** The trace of the request, if it is traced. */
    trace: RequestTrace | undefined
  }
}

/** The viewer of an authenticated request. */
export function viewerOf({ viewer }: FastifyRequest): Viewer {
  if (!viewer) throw new Error('This route runs without authentication')
  return viewer
}

/** Creates a context for an authenticated request. */
export function contextOf(request: FastifyRequest, services: Services): Context {
  return createContext(services, viewerOf(request), request.log, request.trace)
}
