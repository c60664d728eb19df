import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How often the log says that there are too many connections. */
const logMilliseconds = 60_000

/**
 * Bounds the number of open connections. A connection that waits for a request makes room for a new one: first one that has never
 * sent a request, the oldest first, then the one that has waited longest. If all are in use, new ones are closed at once.
 *
 * @param max undefined: any number
 */
export function limitConnections(app: FastifyInstance, max: number | undefined): void {
  if (max === undefined) return
  const { server, log } = app
  const unused = new Set<Socket>()
  const idle = new Set<Socket>()
  /** How many requests of a connection are under way: a client may send further ones before it has an answer. */
  const pending = new Map<Socket, number>()
  let open = 0
  let loggedAt = Number.NEGATIVE_INFINITY

  function report(): void {
    if (performance.now() - loggedAt < logMilliseconds) return
    loggedAt = performance.now()
    log.warn({ max }, 'there are too many connections: some are closed')
  }

  // `dropMaxConnection` is for one of several processes: otherwise node:cluster offers the connection again and again.
  Object.assign(server, { maxConnections: max, dropMaxConnection: true })
  server.on('drop', report)
  server.on('connection', (socket: Socket) => {
    open += 1
    if (open >= max) {
      const [longest] = unused.size > 0 ? unused : idle
      longest?.destroy()
      report()
    }
    unused.add(socket)
    socket.once('close', () => {
      open -= 1
      for (const sockets of [unused, idle, pending]) sockets.delete(socket)
    })
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    unused.delete(socket)
    idle.delete(socket)
    pending.set(socket, (pending.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (pending.get(socket) ?? 1) - 1
      pending.delete(socket)
      if (left > 0) pending.set(socket, left)
      else if (!socket.destroyed) idle.add(socket)
    })
  })
}
