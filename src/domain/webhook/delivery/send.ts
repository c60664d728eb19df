import { createHmac } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type AllowedNetworks, createLookup, loadGuardedAgent, readRetryAfter } from '@fusion-gateway/network'
import { type Agent, type Dispatcher, request } from 'undici'
import { secretPrefix } from '../secrets.ts'

const { createGuardedAgent } = await loadGuardedAgent()

/** The response of an endpoint, or why there is none. */
export interface SendResult {
  readonly isAccepted: boolean
  readonly status: number | null
  readonly error: string | null
  readonly retryAfterSeconds: number | undefined
}

/** Sends a message. Never rejects. */
export type Send = (url: string, message: SignedMessage, signal?: AbortSignal) => Promise<SendResult>

const connectMilliseconds = 5_000
const maxBodyBytes = 64 * 1024
/** How long the body of a response is read. Nobody needs it; a connection whose response was read can be used again. */
const bodyMilliseconds = 1_000

/**
 * Sends messages to endpoints: without following redirects, and only to public addresses, which are
 * checked when a socket connects. Connections are used again. Many servers close a connection that is idle, and a
 * message that is sent at this moment gets no response: it is sent once more, at once, on a new connection.
 */
export function createSender(options: {
  readonly allowPrivateNetworks: AllowedNetworks
  readonly timeoutMilliseconds: number
  /** Instead of those of the system. */
  readonly nameServers?: readonly string[] | undefined
}) {
  const { allowPrivateNetworks, timeoutMilliseconds, nameServers } = options
  const lookup = createLookup(nameServers)
  const createAgent = () =>
    createGuardedAgent({ timeoutMilliseconds: connectMilliseconds, allowPrivateNetworks, lookup })
  const agent = createAgent()
  const connections = watchConnections()

  async function post(url: string, headers: SignedMessage['headers'], body: Buffer, signal: AbortSignal) {
    const post = async (dispatcher: Agent) => {
      const response = await request(url, { method: 'POST', headers, body, dispatcher, signal })
      await discard(response)
      return toResult(response)
    }
    try {
      return await post(agent)
    } catch (error) {
      if (signal.aborted || !isReset(error) || !connections.wasUsed(body)) throw error
      const another = createAgent()
      return await post(another).finally(() => another.destroy())
    }
  }

  const send: Send = async (url, { headers, body }, signal) => {
    const timeout = AbortSignal.timeout(timeoutMilliseconds)
    try {
      return await post(url, headers, Buffer.from(body), signal ? AbortSignal.any([signal, timeout]) : timeout)
    } catch (error) {
      const reason = timeout.aborted ? `no response within ${timeoutMilliseconds / 1_000} s` : reasonOf(error)
      return { isAccepted: false, status: null, error: reason, retryAfterSeconds: undefined }
    }
  }

  return {
    send,
    close() {
      connections.close()
      return agent.destroy()
    },
  }
}

/**
 * Notes for each message whether its connection had been used before. An error does not say so, and an agent does not
 * show its connections, so the channel is read on which undici tells that it begins to send a request.
 *
 * @see https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
 */
function watchConnections() {
  const channel = 'undici:client:sendHeaders'
  const used = new WeakSet<object>()
  const sentOnUsed = new WeakSet<object>()
  const note = (message: unknown) => {
    const { request, socket } = message as { request: { body: unknown }; socket: object }
    if (!Buffer.isBuffer(request.body)) return
    if (used.has(socket)) sentOnUsed.add(request.body)
    used.add(socket)
  }
  subscribe(channel, note)
  return {
    wasUsed: (body: Buffer) => sentOnUsed.has(body),
    close: () => void unsubscribe(channel, note),
  }
}

/** Whether the other side closed the connection before it sent a response. */
function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(firstOf(error).code ?? '')
}

/** Reads the rest of a response, or closes its connection if that is long or slow. */
async function discard({ body }: Dispatcher.ResponseData): Promise<void> {
  const signal = AbortSignal.timeout(bodyMilliseconds)
  await body.dump({ limit: maxBodyBytes, signal }).catch(() => void body.destroy())
}

function toResult({ statusCode: status, headers }: Dispatcher.ResponseData): SendResult {
  const isAccepted = status >= 200 && status < 300
  const isRedirect = status >= 300 && status < 400
  const error = isRedirect ? `status ${status}: redirects are not followed` : `status ${status}`
  const retryAfterSeconds = isAccepted ? undefined : readRetryAfter(headers['retry-after'])
  return { isAccepted, status, error: isAccepted ? null : error, retryAfterSeconds }
}

const maxErrorLength = 200

/** Why there was no response, without anything that the endpoint has sent. */
function reasonOf(error: unknown): string {
  const { code, message } = firstOf(error)
  if (code === 'ERR_IP_BLOCKED') return 'the address is not public'
  const text = code ?? message ?? 'unknown'
  return `no response: ${text}`.slice(0, maxErrorLength)
}

/** An attempt to connect to several addresses fails with an error for each. */
function firstOf(error: unknown): { readonly code?: string; readonly message?: string } {
  return error instanceof AggregateError ? firstOf(error.errors[0]) : ((error ?? {}) as Error)
}

/** What is sent to an endpoint: one JSON text, which stays the same between signing and sending. */
interface SignedMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * @param id the same for each attempt to send the message
 * @param secrets the signature has one part for each
 * @see
 *   https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#webhook-headers-sending-metadata-to-consumers
 */
export function signMessage(id: string, body: string, secrets: readonly string[], now = Date.now()): SignedMessage {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'fusion-gateway',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
  return { headers, body }
}
