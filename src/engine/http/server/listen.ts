import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { OperatorError } from '../../errors.ts'
import { plugin } from '../plugin.ts'

/** How long a client may use an open connection for one more request. */
const graceMilliseconds = 500

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
 * How much of a body is dropped, how long that may take, and how long the client may send nothing. The times are those
 * of nginx.
 */
const maxBytes = 32 * 1024 * 1024

const maxMilliseconds = 30_000

const silenceMilliseconds = 5_000

/** A connection, with the part of Node's parser that its types do not have. */
type HttpSocket = Socket & {
  readonly parser?: { readonly incoming: IncomingMessage | null; onIncoming: () => number } | null
}

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
      const { parser } = socket
      const request = parser?.incoming
      if (!parser || !request || request.complete || !app.server.listening) return destroySoon.call(socket)
      // The parser skips what follows the body. 2 stands for an upgrade.
      parser.onIncoming = () => 2
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
