import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How many requests a client may send over a connection before it has their answers. Clients that pipeline send about ten. */
const maxPending = 50

/**
 * Closes connections over which a client sends very many requests without waiting for answers. Node starts all requests that have arrived
 * together, up to 64 KiB of them, in one step of the event loop: thousands of short ones would delay everyone else.
 */
export function limitPipelining({ server, log }: FastifyInstance): void {
  const [answer] = server.listeners('request') as [RequestListener]
  const pending = new WeakMap<Socket, number>()

  server.off('request', answer).on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // It had arrived together with the request for which the connection was closed.
    if (socket.destroyed) return
    const count = (pending.get(socket) ?? 0) + 1
    if (count > maxPending) {
      log.info(
        { address: socket.remoteAddress },
        `a connection with more than ${maxPending} requests at a time is closed`,
      )
      socket.destroy()
      return
    }
    pending.set(socket, count)
    response.once('close', () => pending.set(socket, (pending.get(socket) ?? 1) - 1))
    answer(request, response)
  })
}
