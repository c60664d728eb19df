import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long a connection that is open already may take to send its first request once the gateway stops. */
const graceMilliseconds = 250

/**
 * Browsers and pools open connections ahead of need. Node does not count one that has never sent a request as idle, and
 * would keep a gateway that stops waiting for it.
 */
export function closeUnusedConnections(app: FastifyInstance): void {
  const unused = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  app.server.on('request', ({ socket }) => unused.delete(socket))
  app.addHook('preClose', async () => {
    setTimeout(() => {
      for (const socket of unused) socket.destroy()
    }, graceMilliseconds)
  })
}
