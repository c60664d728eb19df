import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server that can be cut. */
export interface TcpProxy {
  readonly port: number
  /** Ends every connection, and takes no other until `restore`. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

/** Stands between a client and a server on this machine. */
export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) return void client.destroy()
    const upstream = connect(target, '127.0.0.1')
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const drop = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      drop()
    },
    restore() {
      isCut = false
    },
    async close() {
      drop()
      server.close()
      await once(server, 'close')
    },
  }
}
