import { GatewayError } from '@fusion-gateway/base'
import type { RequestState } from '@fusion-gateway/gateway-kit'
import { problemOfNumbers } from '@fusion-gateway/input'
import type { Limits } from '@fusion-gateway/limits'
import { CloseCode, type SubscribePayload } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { longBody } from '../../plugins/supported-requests.ts'
import { close, type Flow } from './connection.ts'

interface ReadOptions {
  readonly flow: Flow
  readonly limits: Pick<Limits, 'messages' | 'queues'>
  isStopping(): boolean
  readonly handle: Handle
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
    if (isLong) await limits.queues.parsing.run(viewer, start, isUnread).catch(() => undefined)
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

/** graphql-ws takes a message. Resolves when the operation that the message has started is over. */
type Handle = (message: string) => Promise<void>

interface Operation {
  isEnded: boolean
  /** Resolves when graphql-ws has forgotten it. */
  over: Promise<void>
}

interface ClientMessage {
  readonly type?: unknown
  readonly id?: unknown
  readonly payload?: unknown
}

/** What is wrong with payloads that JSON.parse has changed. */
const problems = new WeakMap<object, string>()

/** What is wrong with the numbers of a payload, after the name of what has them; undefined if nothing is. */
export function numberProblemOf(payload: SubscribePayload): string | undefined {
  return problems.get(payload)
}

/**
 * Hands the messages of a client to graphql-ws. An operation that has the id of one which the client has ended waits
 * until that one is over: graphql-ws knows operations only by their ids, and would end the second with the first.
 */
export function keepIdsApart(handle: Handle): Handle {
  const operations = new Map<string, Operation>()

  function start(id: string, message: ClientMessage): Promise<void> {
    const before = operations.get(id)
    const operation: Operation = { isEnded: false, over: Promise.resolve() }
    const begin = async () => {
      if (!operation.isEnded) await handle(message as string)
    }
    operation.over = before?.isEnded ? before.over.then(begin, begin) : begin()
    operations.set(id, operation)
    return operation.over.finally(() => {
      if (operations.get(id) === operation) operations.delete(id)
    })
  }

  return async (text) => {
    const message = parse(text)
    // graphql-ws closes the connection of a client that sends anything else.
    if (!message) return handle(text)
    const { type, id, payload } = message
    if (typeof id !== 'string') return handle(message as string)
    if (type === 'subscribe') {
      const problem = problemOfNumbers(text)
      if (problem !== undefined && typeof payload === 'object' && payload) problems.set(payload, problem)
      return start(id, message)
    }
    const operation = operations.get(id)
    if (type === 'complete' && operation) operation.isEnded = true
    return handle(message as string)
  }
}

function parse(text: string): ClientMessage | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}
