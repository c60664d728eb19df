import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

/** A TCP proxy whose connections a test can close or delay. */
export interface TcpProxy {
  readonly port: number
  /** Closes every connection, and every new one until `restore`. */
  cut(): void
  /** Resets every connection (RST), and every new one until `restore`. */
  reset(): void
  /**
   * Accepts connections and data, and holds back the responses after the first few of each connection, until `restore`.
   */
  hang(after?: number): void
  /** Delays each chunk until `restore`. */
  delay(milliseconds: number): void
  restore(): void
  /** Connects further clients to another port. The connections that exist stay, as after a failover. */
  retarget(port: number): void
  close(): Promise<void>
}

/** Starts a proxy for a port of this machine. */
export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const immediately = Promise.resolve()
  let currentTarget = target
  let rejectConnection: ((socket: Socket) => void) | undefined
  let milliseconds = 0
  let untilOpen = immediately
  let responsesBefore = 0
  let open = () => {}

  const delayed = () =>
    new Transform({
      transform(chunk, _encoding, pass) {
        if (milliseconds > 0) setTimeout(pass, milliseconds, null, chunk)
        else pass(null, chunk)
      },
    })
  /** Counts the responses of a connection: what comes after data of the client, in one or more chunks. */
  const gate = (client: Socket) => {
    let responses = 0
    let isAsked = false
    client.on('data', () => {
      isAsked = true
    })
    return new Transform({
      transform(chunk, _encoding, pass) {
        if (isAsked) responses += 1
        isAsked = false
        if (responses <= responsesBefore) pass(null, chunk)
        else untilOpen.then(() => pass(null, chunk))
      },
    })
  }
  const server = createServer((client) => {
    if (rejectConnection) return rejectConnection(client)
    const upstream = connect(currentTarget, '127.0.0.1')
    client.pipe(delayed()).pipe(upstream)
    upstream.pipe(delayed()).pipe(gate(client)).pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    // The last bytes of the server are passed on before its connection closes.
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function closeAll(close: (socket: Socket) => void): void {
    for (const socket of sockets) close(socket)
  }
  const destroy = (socket: Socket) => void socket.destroy()
  const reset = (socket: Socket) => void socket.resetAndDestroy()
  function restore(): void {
    rejectConnection = undefined
    milliseconds = 0
    untilOpen = immediately
    open()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      rejectConnection = destroy
      closeAll(destroy)
    },
    reset() {
      rejectConnection = reset
      closeAll(reset)
    },
    hang(after = 0) {
      responsesBefore = after
      untilOpen = new Promise((resolve) => {
        open = resolve
      })
    },
    delay(chunkMilliseconds) {
      milliseconds = chunkMilliseconds
    },
    restore,
    retarget(port) {
      currentTarget = port
    },
    async close() {
      restore()
      closeAll(destroy)
      server.close()
      await once(server, 'close')
    },
  }
}
