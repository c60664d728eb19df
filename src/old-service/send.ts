import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** A response that was received completely. */
export interface ReceivedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** As it was sent: compressed, if the headers say so. */
  readonly body: Buffer
}

/** The longest body that is kept. */
export const maxBodyBytes = 64 * 1024 * 1024

export const tooLong = `a body of more than ${maxBodyBytes / 1024 / 1024} MiB`

/** A service to which requests are sent. */
export interface Target {
  /** Its address, which can have a path: `https://old.example.com/api`. */
  readonly url: string
  /** The headers that replace the credential of each request. Absent: the credential is passed on. */
  readonly credential?: Readonly<Record<string, string>> | undefined
}

/** Names and values in turn, as `rawHeaders` of Node has them. */
export type RawHeaders = readonly string[]

export interface SentRequest {
  readonly method: string
  /** The path with the query string, without the path of the target's URL. */
  readonly target: string
  readonly headers: RawHeaders
}

/** The headers that belong to one connection (RFC 9110, section 7.6.1), and one that a server has obeyed. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]

/** Headers without those of the connection, and without those with other names. */
export function endToEnd(headers: RawHeaders, without: readonly string[] = []): string[] {
  const named = pairsOf(headers).flatMap(([name, value]) =>
    name.toLowerCase() === 'connection' ? value.toLowerCase().split(/\s*,\s*/) : [],
  )
  const left = new Set([...hopByHop, ...named, ...without])
  return pairsOf(headers)
    .filter(([name]) => !left.has(name.toLowerCase()))
    .flat()
}

function pairsOf(headers: RawHeaders): [name: string, value: string][] {
  return Array.from({ length: headers.length / 2 }, (_, index) => [
    headers[index * 2] ?? '',
    headers[index * 2 + 1] ?? '',
  ])
}

const credentials = ['x-api-key', 'authorization']

export type Client = ReturnType<typeof createClient>

export interface StartOptions {
  /** Headers that are not sent. */
  readonly without?: readonly string[]
  /** Further headers: those that say where the body ends. */
  readonly framing?: RawHeaders
  /**
   * Whether a connection may be used again. The service can have closed it, and then nobody knows whether it has
   * received the request.
   */
  readonly reusesConnections: boolean
}

/** Creates a client of a service. It follows no redirects, and has no timeout of its own. */
export function createClient({ url, credential }: Target) {
  const base = new URL(url)
  const isEncrypted = base.protocol === 'https:'
  const agent = new (isEncrypted ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 256 })
  const send = isEncrypted ? httpsRequest : httpRequest
  const prefix = base.pathname.replace(/\/$/, '')
  const replaced = ['host', ...(credential ? credentials : [])]
  const own = Object.entries({ host: base.host, ...credential }).flat()

  return {
    /** Starts a request, whose body the caller writes. */
    start({ method, target, headers }: SentRequest, options: StartOptions): ClientRequest {
      const { without = [], framing = [], reusesConnections } = options
      return send({
        agent: reusesConnections ? agent : false,
        method,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port,
        path: `${prefix}${target}`,
        headers: [...endToEnd(headers, [...replaced, ...without]), ...own, ...framing],
        setDefaultHeaders: false,
      })
    },
    close: () => agent.destroy(),
  }
}

/** Whether a service may get a request twice, if its connection breaks off before the response. */
export const mayRepeat = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * Sends a request with a body, and receives the whole response.
 *
 * @param without headers that are not sent
 * @throws Error if there is no complete response within the time, or its body is too long
 */
export function exchange(
  client: Client,
  request: SentRequest,
  body: Buffer,
  { without = [], milliseconds }: { readonly without?: readonly string[]; readonly milliseconds: number },
): Promise<ReceivedResponse> {
  const framing = body.length > 0 || !mayRepeat(request.method) ? ['content-length', String(body.length)] : []
  const options = { without: [...without, 'content-length'], framing, reusesConnections: mayRepeat(request.method) }
  const send = () => sendOnce(client.start(request, options), body, milliseconds)
  return send().catch((error: unknown) => {
    if (error instanceof StaleConnection) return send()
    throw error
  })
}

/** A connection that was used again was closed meanwhile. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

function sendOnce(sent: ClientRequest, body: Buffer, milliseconds: number): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no complete response within ${milliseconds / 1_000} s`)
    const timer = setTimeout(() => sent.destroy(late), milliseconds)
    let hasBegun = false
    const fail = (error: Error) => {
      clearTimeout(timer)
      sent.destroy()
      const isStale = sent.reusedSocket && !hasBegun && error !== late
      reject(isStale ? new StaleConnection('the connection was closed') : error)
    }
    sent.on('error', fail)
    sent.on('response', (response) => {
      hasBegun = true
      receive(response).then((received) => {
        clearTimeout(timer)
        resolve(received)
      }, fail)
    })
    sent.end(body)
  })
}

/** @throws Error if the response breaks off, or is too long */
async function receive(response: IncomingMessage): Promise<ReceivedResponse> {
  const copy = createCopy()
  for await (const chunk of response) {
    copy.add(chunk as Buffer)
    if (copy.isTooLong()) throw new Error(tooLong)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: copy.bytes() }
}

/** Collects the chunks of a body, up to the longest one that is compared. */
export function createCopy(maxBytes = maxBodyBytes) {
  let chunks: Buffer[] = []
  let length = 0
  return {
    add(chunk: Buffer): void {
      length += chunk.length
      if (length > maxBytes) chunks = []
      else chunks.push(chunk)
    },
    isTooLong: () => length > maxBytes,
    bytes: () => Buffer.concat(chunks),
  }
}

/** What failed, without addresses and other details that differ between requests: `ECONNREFUSED`. */
export function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' ? code : String(message)
}
