import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

/** A way to a server that can be cut, or be slow. */
export interface TcpProxy {
  readonly port: number
  /** Ends every connection, and takes no other until `restore`. */
  cut(): void
  /** Breaks every connection (RST), and each that is made until `restore`. */
  reset(): void
  /** Takes connections and what is sent on them, and keeps every answer until `restore`. */
  hang(): void
  /** Keeps each chunk for so long, until `restore`. */
  delay(milliseconds: number): void
  restore(): void
  close(): Promise<void>
}

/** Stands between a client and a server on this machine. */
export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const atOnce = Promise.resolve()
  let refuse: ((socket: Socket) => void) | undefined
  let milliseconds = 0
  let untilOpen = atOnce
  let open = () => {}

  const late = () =>
    new Transform({
      transform(chunk, _encoding, pass) {
        if (milliseconds > 0) setTimeout(pass, milliseconds, null, chunk)
        else pass(null, chunk)
      },
    })
  const gate = () =>
    new Transform({
      transform(chunk, _encoding, pass) {
        untilOpen.then(() => pass(null, chunk))
      },
    })
  const server = createServer((client) => {
    if (refuse) return refuse(client)
    const upstream = connect(target, '127.0.0.1')
    client.pipe(late()).pipe(upstream)
    upstream.pipe(late()).pipe(gate()).pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    // The server's last words are passed on before its end.
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function end(how: (socket: Socket) => void): void {
    for (const socket of sockets) how(socket)
  }
  const destroy = (socket: Socket) => void socket.destroy()
  const breakOff = (socket: Socket) => void socket.resetAndDestroy()
  function restore(): void {
    refuse = undefined
    milliseconds = 0
    untilOpen = atOnce
    open()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      refuse = destroy
      end(destroy)
    },
    reset() {
      refuse = breakOff
      end(breakOff)
    },
    hang() {
      untilOpen = new Promise((resolve) => {
        open = resolve
      })
    },
    delay(given) {
      milliseconds = given
    },
    restore,
    async close() {
      restore()
      end(destroy)
      server.close()
      await once(server, 'close')
    },
  }
}
