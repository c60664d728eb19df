import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Says that a connection is in use, although it has no request: it makes no room for new ones. */
    keepConnection(socket: Duplex): void
  }
}

/** How often the log says that there are too many connections. */
const logMilliseconds = 60_000

/**
 * How many requests a client may send over a connection before it has their responses. Clients that pipeline send about
 * ten.
 */
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
      abort(socket)
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

/**
 * Closes a connection. Node's parser would go on with the other requests that have arrived, perhaps thousands. It skips
 * them after a request that is an upgrade, which 2 stands for.
 */
function abort(socket: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 2
  socket.destroy()
}
