import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../auth/viewer.ts'
import { type Context, createContext, type Services } from '../context.ts'

/** The viewer of an authenticated request. */
export function viewerOf({ viewer }: FastifyRequest): Viewer {
  if (!viewer) throw new Error('This route runs without authentication')
  return viewer
}

/** Returns the function that calls back when a client has received its response, or has gone. */
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
    // The last data reaches the response in this turn of the event loop.
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
