import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ReceivedResponse } from '../old-service/send.ts'
import { type Client, createCopy, endToEnd, mayRepeat, reasonOf } from '../old-service/send.ts'
import type { FullRequest } from './shadow.ts'

/** A request of a client, and the response of the old service that the client has received. */
export interface Served {
  readonly request: FullRequest
  readonly response: ReceivedResponse
  readonly milliseconds: number
}

export interface ProxyOptions {
  readonly old: Client
  /** Called after the client has received its response. Not called if the bodies are too long to be kept. */
  onServed(served: Served): void
  /** Called instead of it, with the reason. */
  onSkipped(reason: string): void
}

/** The longest body of a request that is kept. The gateway accepts no more. */
const maxRequestBytes = 1024 * 1024

/**
 * Creates a proxy of the old service. Clients get its responses as they are: the status, the headers in their order and
 * spelling, and the bytes of the body, while they arrive.
 */
export function createProxy(options: ProxyOptions): Server {
  const server = createServer((request, response) => void serve(request, response, options))
  // A request may take as long as the old service allows.
  server.requestTimeout = 0
  server.timeout = 0
  return server
}

/** Passes one request on, and its response back. */
function serve(incoming: IncomingMessage, outgoing: ServerResponse, options: ProxyOptions): void {
  const { old, onServed, onSkipped } = options
  const { method = 'GET', url: target = '/', rawHeaders: headers } = incoming
  const started = performance.now()
  const [requestCopy, responseCopy] = [createCopy(maxRequestBytes), createCopy()]
  let isOver = false
  let hasResponse = false
  const skip = (reason: string) => {
    if (!isOver) onSkipped(reason)
    isOver = true
  }

  const hasBody =
    incoming.headers['content-length'] !== undefined || incoming.headers['transfer-encoding'] !== undefined
  const reusesConnections = mayRepeat(method) && !hasBody
  const framing = incoming.headers['transfer-encoding'] === undefined ? [] : ['transfer-encoding', 'chunked']

  function send(): void {
    const sent = old.start({ method, target, headers }, { framing, reusesConnections })
    sent.on('response', passBack)
    sent.on('error', (error) => {
      // A service can respond before it has read the whole request. The response has its own errors.
      if (hasResponse) return
      if (sent.reusedSocket && reusesConnections && !outgoing.headersSent && !outgoing.destroyed) return send()
      skip(`the old service failed: ${reasonOf(error)}`)
      refuse(outgoing, error)
    })
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) sent.destroy()
    })
    if (!hasBody) return void sent.end()
    incoming.on('data', (chunk: Buffer) => requestCopy.add(chunk))
    incoming.pipe(sent)
  }

  function passBack(received: IncomingMessage): void {
    const { statusCode = 502, statusMessage, rawHeaders, headers: parsed } = received
    hasResponse = true
    outgoing.sendDate = false
    outgoing.writeHead(statusCode, statusMessage, endToEnd(rawHeaders))
    received.on('data', (chunk: Buffer) => responseCopy.add(chunk))
    received.on('error', (error) => {
      skip(`the old service failed: ${reasonOf(error)}`)
      // The client sees that its response is incomplete.
      outgoing.destroy()
    })
    received.pipe(outgoing)
    outgoing.on('finish', () => {
      if (requestCopy.isTooLong()) return skip('a request body of more than 1 MiB')
      if (responseCopy.isTooLong()) return skip('a response body that is too long')
      isOver = true
      const request = { method, target, headers, body: requestCopy.bytes() }
      const response = { status: statusCode, headers: parsed, body: responseCopy.bytes() }
      onServed({ request, response, milliseconds: performance.now() - started })
    })
  }

  incoming.on('error', () => undefined)
  outgoing.on('close', () => skip('the client has closed its connection'))
  send()
}

/** Says that the old service cannot be reached, as any gateway does. */
function refuse(outgoing: ServerResponse, error: Error): void {
  if (outgoing.headersSent) {
    outgoing.destroy()
    return
  }
  const detail = `The old service cannot be reached: ${reasonOf(error)}.`
  outgoing.writeHead(502, { 'content-type': 'application/problem+json' })
  outgoing.end(JSON.stringify({ type: 'about:blank', title: 'Bad Gateway', status: 502, detail }))
}
