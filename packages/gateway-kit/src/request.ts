import type { Socket } from 'node:net'
import { type Authenticator, isRefusal, type Viewer } from '@fusion-gateway/auth'
import { GatewayError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { delayRejection } from '@fusion-gateway/limits'
import { clientOf } from '@fusion-gateway/telemetry'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Context, createContext, type Services } from './context.ts'

/** What the gateway knows about a request, or about an operation that came over a WebSocket. */
export type RequestState = Pick<
  FastifyRequest,
  'headers' | 'viewer' | 'statements' | 'refusal' | 'held' | 'log' | 'trace' | 'operationName'
>

export type Authenticate = (request: Pick<RequestState, 'headers' | 'viewer' | 'statements'>) => Promise<Viewer>

/** How many requests without a valid key are refused at once in a second: looking keys up kept the gateway busy. */
const maxRefusalsPerSecond = 100

/**
 * Creates the authentication of requests. Routes call it before the body is read, so that a client without a key cannot
 * make the gateway read one.
 *
 * @throws GatewayError UNAUTHENTICATED, MALFORMED_REQUEST
 */
export function createAuthenticate(authenticator: Authenticator, { sql }: Pick<Database, 'sql'>): Authenticate {
  let second = 0
  let refusals = 0

  async function slowDown(): Promise<void> {
    const now = Math.floor(performance.now() / 1_000)
    if (now !== second) refusals = 0
    second = now
    refusals += 1
    if (refusals > maxRefusalsPerSecond) await delayRejection()
  }

  return async (request) => {
    const { 'x-api-key': header, authorization } = request.headers
    const apiKey = Array.isArray(header) ? header[0] : header
    // Other requests may wait for the same key, so it is read even if this client goes.
    const shared = sql.for(request.statements, { isShared: true })
    try {
      request.viewer = await authenticator.authenticate(shared, { apiKey, authorization })
    } catch (error) {
      if (isRefusal(error)) await slowDown()
      throw error
    }
    request.statements.tenantAppId = request.viewer.tenantAppId
    return request.viewer
  }
}

export function viewerOf({ viewer }: Pick<RequestState, 'viewer'>): Viewer {
  if (!viewer) throw new Error('This route runs without authentication')
  return viewer
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

/**
 * Returns the function that calls back when a client has taken nothing of its response for as long as a connection may
 * be idle. The connection is cut off if the client takes nothing for as long again.
 */
export function onUnread({ raw }: FastifyReply): (done: () => void) => void {
  return (done) =>
    raw.once('timeout', (socket: Socket) => {
      // Node leaves the connection to the listener, once.
      if (raw.writableLength === 0) {
        socket.destroy()
        return
      }
      socket.setTimeout(socket.timeout ?? 0)
      done()
    })
}

/**
 * Whether a client asks for a response that is read now. One that validates what it has does not: `fetch` adds
 * `no-cache` to each request with `If-None-Match`, and what the memory returns is never out of date.
 */
export function readsAnew({ headers }: Pick<RequestState, 'headers'>): boolean {
  const { 'cache-control': sent, 'if-none-match': tags } = headers
  return sent !== undefined && tags === undefined && /\bno-(cache|store)\b/i.test(sent)
}

export function contextOf(request: RequestState, services: Services): Context {
  const { log, statements, trace, headers } = request
  return createContext(services, { viewer: viewerOf(request), client: clientOf(headers), log, statements, trace })
}

/** 1 to 255 visible ASCII characters. */
export const idempotencyKeyPattern = /^[!-~]{1,255}$/

/**
 * Reads the header `Idempotency-Key`.
 *
 * @param content the content of the request. Requests with the same key must be equal
 * @returns the key and the request as text; undefined without the header
 * @throws GatewayError MALFORMED_REQUEST if the header is not a key
 */
export function readIdempotencyKey({ method, url, headers }: FastifyRequest, content: unknown) {
  return toIdempotencyKey('The header idempotency-key', headers['idempotency-key'], `${method} ${url}`, content)
}

/**
 * @param name what has the key, for the error
 * @param route the method and path of the request
 */
export function toIdempotencyKey(name: string, key: unknown, route: string, content: unknown) {
  if (key == null) return undefined
  if (typeof key !== 'string' || !idempotencyKeyPattern.test(key)) {
    throw new GatewayError('MALFORMED_REQUEST', `${name} takes 1 to 255 visible ASCII characters.`)
  }
  return { key, request: `${route}\n${JSON.stringify(content)}` }
}
