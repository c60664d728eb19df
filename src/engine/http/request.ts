import type { FastifyReply, FastifyRequest } from 'fastify'
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
    /** The length of its body, in bytes. */
    bodyLength: number
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

/** Returns the function that calls back when a client has received its answer, or has gone. */
export function onSent({ raw }: FastifyReply): (done: () => void) => void {
  return (done) => {
    raw.once('close', done)
    if (raw.closed) done()
  }
}

/** Returns the function that calls back when a client has received what was sent so far, or has gone. */
export function onFlushed({ raw }: FastifyReply): (done: () => void) => void {
  return (done) => {
    const finish = () => {
      raw.off('drain', finish)
      raw.off('close', finish)
      done()
    }
    // What was sent last reaches the response in this turn of the event loop.
    setImmediate(() => {
      if (raw.closed || raw.writableLength === 0) done()
      else raw.once('drain', finish).once('close', finish)
    })
  }
}

/** Creates a context for an authenticated request. */
export function contextOf(request: FastifyRequest, services: Services): Context {
  return createContext(services, viewerOf(request), request.log, request.trace)
}
