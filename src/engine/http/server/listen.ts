import { once } from 'node:events'
import { Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { OperatorError } from '../../errors.ts'
import { plugin } from '../plugin.ts'

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

/**
 * Accepts connections.
 *
 * @param variable the variable that sets the port
 * @returns the URL of the server
 * @throws OperatorError if the host has no address, or the port is in use
 */
export async function listen(
  app: FastifyInstance,
  options: FastifyListenOptions & { readonly host: string; readonly port: number },
  variable: 'PORT' | 'METRICS_PORT' = 'PORT',
): Promise<string> {
  const { host, port } = options
  try {
    return await app.listen(options)
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === 'getaddrinfo') {
      throw new OperatorError(`HOST must be a name or an address of this machine. ${host} has no address.`)
    }
    if (code !== 'EADDRINUSE') throw error
    throw new OperatorError(
      `Another program uses the port ${port} of ${host}. Stop it, or set ${variable} to another port: ${variable}=${port + 1} npm start`,
    )
  }
}
