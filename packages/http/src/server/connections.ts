import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Says that a connection is in use, although it has no request: it makes no room for new ones. */
    keepConnection(socket: Duplex): void
  }
}

/** How often the log says that there are too many connections. */
const logMilliseconds = 60_000

/** How many requests of a connection may lack their responses. Clients that pipeline send about ten. */
const maxPending = 20

/**
 * Bounds the number of open connections. A connection that waits for a request makes room for a new one: first one that
 * has never sent a request, the oldest first, then the one that has waited longest. If all are in use, new ones are
 * closed at once.
 *
 * Closes connections over which a client sends very many requests without waiting for responses. Node starts all
 * requests that have arrived together, up to 64 KiB of them, in one step of the event loop: thousands of short ones
 * would delay everyone else.
 */
export const connectionLimit = plugin<{ max: number | undefined }>('connectionLimit', (app, options) => {
  const { server, log, countRefusal } = app
  const { max = Number.POSITIVE_INFINITY } = options
  const unused = new Set<Socket>()
  const idle = new Set<Socket>()
  /** How many requests of a connection are under way. */
  const pending = new Map<Socket, number>()
  let open = 0
  let loggedAt = Number.NEGATIVE_INFINITY

  function report(): void {
    countRefusal('connections')
    if (performance.now() - loggedAt < logMilliseconds) return
    loggedAt = performance.now()
    log.warn({ limit: 'connections', max }, 'there are too many connections: some are closed')
  }

  if (Number.isFinite(max)) {
    // `dropMaxConnection` is for one of several processes: otherwise node:cluster offers the connection again and
    // again.
    Object.assign(server, { maxConnections: max, dropMaxConnection: true })
    server.on('drop', report)
  }
  server.on('connection', (socket: Socket) => {
    open += 1
    // Node drops a connection over the limit before this event, so one is closed when the limit is reached.
    if (open >= max) {
      const [longest] = unused.size > 0 ? unused : idle
      longest?.destroy()
      if (longest) report()
    }
    unused.add(socket)
    socket.once('close', () => {
      open -= 1
      for (const sockets of [unused, idle, pending]) sockets.delete(socket)
    })
  })

  server.on('upgrade', (_request, socket: Socket) => {
    // The responses that it still waits for would be read as frames.
    if (pending.has(socket)) socket.destroy()
  })
  app.decorate('keepConnection', (socket: Duplex) => {
    for (const sockets of [unused, idle]) sockets.delete(socket as Socket)
  })

  // Fastify's listener is wrapped, because Fastify has created its request and has begun the log when it calls the
  // first hook.
  const [respond] = server.listeners('request') as [RequestListener]
  server.off('request', respond).on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    unused.delete(socket)
    idle.delete(socket)
    const count = (pending.get(socket) ?? 0) + 1
    if (count > maxPending) {
      countRefusal('pipelined_requests')
      log.info(
        { limit: 'pipelined_requests', address: socket.remoteAddress },
        `a connection with more than ${maxPending} requests at a time is closed`,
      )
      skipRest(socket)
      socket.destroy()
      return
    }
    pending.set(socket, count)
    response.once('close', () => {
      const left = (pending.get(socket) ?? 1) - 1
      pending.delete(socket)
      if (left > 0) pending.set(socket, left)
      else if (!socket.destroyed) idle.add(socket)
    })
    respond(request, response)
  })
})

/** A connection, with the part of Node's parser that its types do not have. */
type HttpSocket = Socket & {
  readonly parser?: { readonly incoming: IncomingMessage | null; onIncoming: () => number } | null
}

/** Makes Node's parser skip what follows a request on its connection, as after an upgrade: 2. */
function skipRest({ parser }: HttpSocket): void {
  if (parser) parser.onIncoming = () => 2
}

/** How long a client may use an open connection for one more request. */
const graceMilliseconds = 500

/**
 * Ends connections when the gateway stops, without losing requests. It accepts no new connections, each response tells
 * its client to close, and only connections that stay silent are closed. Node would close silent connections at once,
 * and lose a request that was just sent; and it would wait forever for connections that never sent one, which browsers
 * open in advance.
 */
export const draining = plugin('draining', (app) => {
  const unused = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  for (const event of ['request', 'upgrade']) app.server.on(event, ({ socket }) => unused.delete(socket))

  app.addHook('preClose', async () => {
    if (!app.server.listening) return
    const closed = once(app.server, 'close')
    // The method of http.Server, which Fastify calls later, closes silent connections too.
    Server.prototype.close.call(app.server)
    await Promise.race([closed, sleep(graceMilliseconds, undefined, { ref: false })])
    for (const socket of unused) socket.destroy()
  })
})

/** How much of a body is dropped, for how long, and how long a client may be silent: the times of nginx. */
const maxBytes = 32 * 1024 * 1024

const maxMilliseconds = 30_000

const silenceMilliseconds = 5_000

/**
 * Lets a client read the response to a request whose body is not read, such as a 413. Most clients read only after they
 * have sent the whole body, and a system that closes a connection with unread data tells the client to forget the
 * response too (EPIPE, ECONNRESET). So the gateway ends its side, drops what the client still sends, and closes the
 * connection when the body is over.
 *
 * @see https://nginx.org/en/docs/http/ngx_http_core_module.html#lingering_close
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export const lingeringClose = plugin('lingeringClose', (app) => {
  const lingering = new Set<Socket>()
  app.server.on('connection', (socket: HttpSocket) => {
    const { destroySoon } = socket
    // Node calls it after a response with the header `connection: close`.
    socket.destroySoon = () => {
      const request = socket.parser?.incoming
      if (!request || request.complete || !app.server.listening) return destroySoon.call(socket)
      skipRest(socket)
      lingering.add(socket)
      socket.once('close', () => lingering.delete(socket))
      linger(socket, request)
    }
  })
  app.addHook('preClose', async () => {
    for (const socket of lingering) socket.destroy()
  })
})

function linger(socket: Socket, request: IncomingMessage): void {
  const startedAt = performance.now()
  const bytesBefore = socket.bytesRead
  const silence = setTimeout(() => socket.destroy(), silenceMilliseconds)
  socket.end()
  socket.on('data', () => {
    silence.refresh()
    const isOver = socket.bytesRead - bytesBefore > maxBytes || performance.now() - startedAt > maxMilliseconds
    if (isOver) socket.destroy()
  })
  socket.once('close', () => clearTimeout(silence))
  // Before the response, Node may have stopped reading, because the request's buffer was full. With a listener of its
  // own, the socket does not start again by itself: it believes that a read is under way, which an empty push ends.
  socket.push('')
  request.once('end', () => socket.destroySoon()).resume()
}
