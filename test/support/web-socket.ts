import { once } from 'node:events'
import { WebSocket } from 'ws'

/** A message of the protocol graphql-transport-ws. */
export interface Message {
  readonly type: string
  readonly id?: string
  readonly payload?: unknown
}

/** A client that sends frames as it likes. */
export interface SocketClient {
  readonly socket: WebSocket
  send(message: Message | string): void
  /** The next message; undefined when the socket is closed. */
  next(): Promise<Message | undefined>
  /** The code and the reason with which the gateway closes it. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

interface OpenOptions {
  readonly protocol?: string
  readonly headers?: Record<string, string>
}

/** Opens a socket to a listening gateway, without `connection_init`. */
export async function openSocket(
  address: string,
  { protocol = 'graphql-transport-ws', headers = {} }: OpenOptions = {},
): Promise<SocketClient> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/graphql`, protocol, { headers })
  const messages: Message[] = []
  let wake = () => {}
  let isClosed = false
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)))
    wake()
  })
  const closed = once(socket, 'close').then(([code, reason]) => {
    isClosed = true
    wake()
    return { code, reason: String(reason) }
  })
  closed.catch(() => undefined)
  await once(socket, 'open')
  return {
    socket,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async next() {
      while (messages.length === 0 && !isClosed) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return messages.shift()
    },
  }
}

/** Opens a socket and waits until the gateway has accepted the credential. */
export async function initSocket(address: string, key: string): Promise<SocketClient> {
  const client = await openSocket(address)
  client.send({ type: 'connection_init', payload: { 'x-api-key': key } })
  const message = await client.next()
  if (message?.type !== 'connection_ack') throw new Error(`Not accepted: ${JSON.stringify(await client.closed)}`)
  return client
}
