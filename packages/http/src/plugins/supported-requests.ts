import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, Server } from 'node:http'
import { GatewayError } from '@fusion-gateway/base'
import { excessOf, problemOfNumbers } from '@fusion-gateway/input'
import type { FairQueue } from '@fusion-gateway/limits'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { plugin } from '../plugin.ts'
import { endWithProblem } from '../problem.ts'

/**
 * Accepts requests of HTTP/1.1 with a body of JSON or none. Refuses those that Node accepts, and that the gateway does
 * not support or a proxy could read in another way.
 */
export const supportedRequests = plugin<{ steps: FairQueue }>('supportedRequests', (app, { steps }) => {
  readJsonBodies(app, steps)
  // Node would respond with a 417 without a body.
  app.server.on('checkExpectation', (request, response) => void app.server.emit('request', request, response))
  // Node would close the connection without a response. The target of a CONNECT is no path, so that no route sees it.
  app.server.on('connect', (_request, socket) => {
    const headers = { allow: 'GET, HEAD, POST, PUT, DELETE' }
    // Node no longer listens to the socket.
    socket.on('error', () => undefined).resume()
    socket.once('finish', () => socket.destroy())
    endWithProblem(socket, new GatewayError('METHOD_NOT_ALLOWED', 'The gateway is not a proxy.', { headers }), app.log)
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const problem = problemOf(raw)
    if (problem !== undefined) {
      // What follows on the connection could be frames, or the rest of a body.
      reply.header('connection', 'close')
      throw new GatewayError('MALFORMED_REQUEST', problem)
    }
    if (isWebSocket(raw)) {
      reply.header('connection', 'close')
      throw new GatewayError('SERVICE_UNAVAILABLE', 'The gateway is stopping and opens no WebSockets.')
    }
    const { expect = '100-continue' } = raw.headers
    // Node ignores the header of HTTP/1.0.
    if (expect.toLowerCase() !== '100-continue' && raw.httpVersion !== '1.0') {
      throw new GatewayError('EXPECTATION_FAILED', 'The only supported value of the header expect is 100-continue.')
    }
    const encoding = raw.headers['content-encoding'] || 'identity'
    if (encoding.toLowerCase() === 'identity') return done()
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without the header content-encoding.', {
      headers: { 'accept-encoding': 'identity' },
    })
  })
})

/** Whether an upgrade opens a WebSocket. Others, such as offers of h2c, are requests like all. */
export function opensWebSocket(this: Server, request: IncomingMessage): boolean {
  return this.listening && isWebSocket(request) && problemOf(request) === undefined
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Whether the gateway opens a WebSocket for a request. A proxy may have removed the header `connection`. */
function isForWebSockets({ method, url = '', httpVersion, headers }: IncomingMessage): boolean {
  const isUpgrade = /(^|[\s,])upgrade($|[\s,])/i.test(headers.connection ?? '')
  return method === 'GET' && /^\/graphql\/?($|\?)/.test(url) && httpVersion === '1.1' && isUpgrade
}

/** Whether each % begins a character of UTF-8. Fastify would keep others as they are. */
function isPercentEncoded(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Why a request is refused. Node reads any version of HTTP, the first of several Hosts, and only the last transfer
 * encoding.
 */
function problemOf(request: IncomingMessage): string | undefined {
  const { headers, httpVersionMajor, rawHeaders, url = '' } = request
  if (isWebSocket(request) && !isForWebSockets(request)) {
    // Node would ignore the upgrade, and the client would wait for it or see an unrelated error.
    return 'WebSockets are opened at /graphql, by GET over HTTP/1.1 with the headers "upgrade: websocket" and "connection: upgrade".'
  }
  if (!isPercentEncoded(url.split('?').slice(1).join('?'))) return 'The query string is not valid percent-encoding.'
  if (httpVersionMajor !== 1) return 'This is not an HTTP/1.1 request.'
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') {
    return 'The only supported transfer-encoding is chunked.'
  }
  // Node would respond without a body.
  if (headers.host === undefined && request.httpVersion === '1.1') return 'The request has no header host.'
  const isHost = (text: string, index: number) => index % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host'
  return rawHeaders.findIndex(isHost) === rawHeaders.findLastIndex(isHost)
    ? undefined
    : 'The request has several headers host.'
}

/** Bodies and messages from this size on, in bytes, are read in a queue, with the work up to the first statement. */
export const longBody = 32 * 1024

/**
 * Reads JSON bodies and rejects all others: a browser can send forms and plain text to other origins without asking. A
 * GET may have a body too (GET /fusion/profiles), also without a content type, because existing clients send none.
 */
function readJsonBodies(app: FastifyInstance, steps: FairQueue): void {
  // No route without a key has a body, so a client without one cannot make the gateway read JSON.
  const parse = (request: FastifyRequest, body: Buffer) => {
    const { viewer, statements } = request
    if (!viewer) return undefined
    request.bodyLength = body.length
    if (body.length < longBody) return parseJson(body)
    return steps.run(
      viewer,
      () => parseJson(body),
      () => statements.isAbandoned === true,
    )
  }
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    parse(request, body),
  )
  // Rejected before it is read: a file is often longer than a body may be.
  app.addContentTypeParser('multipart/form-data', async () => {
    throw new GatewayError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Uploads of files (multipart/form-data) are not supported. Send the body as application/json.',
    )
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined
    if (!hasOptionalContentType(request)) {
      throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
    }
    return parse(request, body)
  })
}

function hasOptionalContentType({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers['content-type'] === undefined
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  // Decoding would silently replace bytes that are not UTF-8, and the gateway would store a text that the client has
  // not sent.
  if (!isUtf8(body)) throw new GatewayError('MALFORMED_REQUEST', 'The body is not UTF-8.')
  // Editors of Windows begin a text with a byte order mark.
  const text = body.toString('utf8').replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new GatewayError('MALFORMED_REQUEST', 'The body is not valid JSON.')
  }
  const excess = excessOf(value)
  if (excess !== undefined) throw new GatewayError('MALFORMED_REQUEST', `The body ${excess}.`, { limit: 'body_values' })
  const problem = problemOfNumbers(text)
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `The body ${problem}.`)
  return value
}
