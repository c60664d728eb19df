import { once } from 'node:events'
import { Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** How long a client that keeps a connection open may take to use it for the last time. */
const graceMilliseconds = 500

/**
 * Lets connections end when the gateway stops, so that no request is lost on its way: no new one is taken, each answer
 * from then on tells its client to close, and only a connection that stays silent for a moment is closed from here.
 * Node would close silent ones at once, and a request that has just been sent on one with it; and it would wait for ever
 * for one that has never sent a request, as browsers and pools open ahead of need.
 */
export function drainConnections(app: FastifyInstance): void {
  const unused = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  app.server.on('request', ({ socket }) => unused.delete(socket))

  app.addHook('preClose', async () => {
    if (!app.server.listening) return
    const closed = once(app.server, 'close')
    // Not that of http.Server, which closes the silent connections too; Fastify calls it afterwards.
    Server.prototype.close.call(app.server)
    await Promise.race([closed, sleep(graceMilliseconds, undefined, { ref: false })])
    for (const socket of unused) socket.destroy()
  })
}
