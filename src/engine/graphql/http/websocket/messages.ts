import { CloseCode } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { GatewayError } from '../../../errors.ts'
import { longBody } from '../../../http/plugins/supported-requests.ts'
import type { RequestState } from '../../../http/request.ts'
import type { Limits } from '../../../limits/limits.ts'
import type { Flow } from './connection.ts'
import { close } from './connection.ts'

interface ReadOptions {
  readonly flow: Flow
  readonly limits: Pick<Limits, 'messages' | 'queues'>
  isStopping(): boolean
  /** Resolves when the operation that the message has started is over. */
  handle(text: string): Promise<void>
}

/**
 * Reads the messages of a client in their order, as fast as its budget allows. Long ones are queued, as long bodies
 * are.
 */
export function readMessages(
  client: Pick<RequestState, 'viewer' | 'log'> & { readonly socket: WebSocket },
  { flow, limits, isStopping, handle }: ReadOptions,
): void {
  const { socket, log } = client
  const isUnread = () => isStopping() || socket.readyState !== socket.OPEN
  let order = Promise.resolve()

  function begin(message: Buffer): void {
    handle(message.toString('utf8')).catch((error: unknown) => {
      // The client has left.
      if (isUnread()) return
      log.info({ err: error }, 'a message of a WebSocket could not be read')
      close(socket, CloseCode.BadRequest, 'Invalid message received')
    })
  }

  async function read(length: number, start: () => void): Promise<void> {
    const { viewer } = client
    if (isUnread()) return
    const isLong = length >= longBody
    if (!viewer || (!isLong && limits.messages.take(viewer) === 0)) return start()
    const release = flow.hold()
    await limits.messages.wait(viewer, 1, isUnread)
    if (isLong) await limits.queues.steps.run(viewer, start, isUnread).catch(() => undefined)
    else if (!isUnread()) start()
    release()
  }

  function enqueue(length: number, start: () => void): void {
    if (!isUnread()) order = order.then(() => read(length, start))
  }

  socket.on('message', (message: RawData, isBinary: boolean) => {
    if (isBinary) close(socket, CloseCode.BadRequest, 'Messages are text.')
    enqueue((message as Buffer).length, () => begin(message as Buffer))
  })
  // ws would reply to all pings of a packet at once, and to those of clients without a credential.
  socket.on('ping', (data: Buffer) => {
    if (client.viewer) enqueue(data.length, () => void flow.pong(data).catch(() => undefined))
  })
}

/**
 * Reads a credential from the payload of `connection_init`. Names are read as those of headers, in any case.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a text
 */
export function credentialIn(params: Record<string, unknown>): Record<string, string> | undefined {
  const entries = Object.entries(params).map(([name, value]) => [name.toLowerCase(), value] as const)
  const sent = entries.filter(([name, value]) => (name === 'x-api-key' || name === 'authorization') && value != null)
  if (sent.length === 0) return undefined
  if (sent.some(([, value]) => typeof value !== 'string')) {
    throw new GatewayError('MALFORMED_REQUEST', 'x-api-key and authorization of connection_init are texts.')
  }
  return Object.fromEntries(sent) as Record<string, string>
}
