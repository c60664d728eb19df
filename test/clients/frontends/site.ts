import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

/** A response of the gateway, or one in its place. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/**
 * What happens to a request on its way: it is passed to the gateway by `forward`, and the page gets what is returned.
 * `lost` closes the connection without a response.
 */
export type Fault = (forward: () => Promise<Answer>) => Promise<Answer | 'lost'>

/** A request that a page has sent to the origin. */
export interface SeenRequest {
  /** `GET /graphql` for a WebSocket. */
  readonly route: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** When it arrived, in milliseconds of the process. */
  readonly time: number
}

/**
 * The origin of a frontend: its page, its token backend, and the gateway, as behind a proxy on one host. A test can
 * make its requests fail, and replace the gateway.
 */
export interface Site {
  readonly origin: string
  /** All requests to the token backend and the gateway, the latest last. */
  readonly requests: readonly SeenRequest[]
  /** Passes requests to this gateway from now on. */
  connect(gateway: string): void
  /** Closes all connections, and until `connect` those on which a request for the gateway arrives. */
  disconnect(): void
  /**
   * Applies a fault to the next requests with an operation of this name.
   *
   * @returns resolves when it has been applied `times` times
   */
  fail(operation: string, fault: Fault, times?: number): Promise<void>
  /** Ends the faults that have not been applied. */
  endFaults(): void
  /** The requests that had an operation of this name. */
  requestsOf(operation: string): readonly SeenRequest[]
  close(): Promise<void>
}

interface PendingFault {
  readonly operation: string
  readonly fault: Fault
  readonly applied: () => void
  left: number
}

const hasOperation = (body: string, name: string) =>
  new RegExp(`\\b(query|mutation|subscription) ${name}\\b`).test(body)

/**
 * Starts a site.
 *
 * @param files what GET returns, by path
 * @param handleToken what `POST /token` returns
 */
export async function startSite(
  files: Readonly<Record<string, { readonly type: string; readonly body: string }>>,
  handleToken: (request: Request) => Promise<Response>,
): Promise<Site> {
  const requests: SeenRequest[] = []
  const sockets = new Set<Socket>()
  const faults = new Set<PendingFault>()
  let gateway: URL | undefined

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    const file = files[pathname]
    if (file) return void response.writeHead(200, { 'content-type': file.type }).end(file.body)
    // Chromium asks for an icon.
    if (pathname !== '/graphql' && pathname !== '/token') return void response.writeHead(404).end()
    const body = await text(request)
    requests.push({ route: `${request.method} ${pathname}`, headers: request.headers, body, time: performance.now() })
    try {
      if (pathname === '/token') await answerToken(request, body, response)
      else await answer(request, body, response)
    } catch {
      response.destroy()
    }
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    requests.push({ route: 'GET /graphql', headers: request.headers, body: '', time: performance.now() })
    if (!gateway) return void socket.destroy()
    const upstream = connect(Number(gateway.port), gateway.hostname)
    const headers = request.rawHeaders.flatMap((name, at) => (at % 2 ? [] : [`${name}: ${request.rawHeaders[at + 1]}`]))
    upstream.write(`GET ${request.url} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
    upstream.write(head)
    socket.pipe(upstream).pipe(socket)
    upstream.on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  })

  async function answerToken(request: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
    const headers = new Headers(request.headers as Record<string, string>)
    const init = { method: request.method ?? 'POST', headers, ...(body && { body }) }
    const answered = await handleToken(new Request(`http://site${request.url}`, init))
    response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text())
  }

  /** Sends a request to the gateway. Resolves with the response, whose body has not been read. */
  async function forward(
    { url, method, headers }: IncomingMessage,
    body: string,
    response: ServerResponse,
  ): Promise<IncomingMessage> {
    if (!gateway) throw new Error('The gateway is down')
    const { hostname, port } = gateway
    // A fault reads the body, which must be text.
    const { connection: _connection, 'accept-encoding': _encoding, ...passed } = headers
    const sent = sendRequest({ hostname, port, path: url, method, headers: passed, agent: false })
    response.once('close', () => response.writableFinished || sent.destroy())
    sent.end(body)
    const [answered] = (await once(sent, 'response')) as [IncomingMessage]
    return answered
  }

  async function answer(request: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
    const pending = [...faults].find(({ operation }) => hasOperation(body, operation))
    if (!pending) {
      const answered = await forward(request, body, response)
      response.writeHead(answered.statusCode ?? 0, answered.headers)
      answered.on('error', () => response.destroy()).pipe(response)
      return
    }
    pending.left -= 1
    const isLast = pending.left === 0
    if (isLast) faults.delete(pending)
    try {
      const answered = await pending.fault(async () => {
        const received = await forward(request, body, response)
        const { 'content-length': _, ...headers } = received.headers
        return { status: received.statusCode ?? 0, headers, body: await text(received) }
      })
      if (answered === 'lost') response.destroy()
      else response.writeHead(answered.status, answered.headers).end(answered.body)
    } finally {
      if (isLast) pending.applied()
    }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connect(address) {
      gateway = new URL(address)
    },
    disconnect() {
      gateway = undefined
      closeConnections()
    },
    fail: (operation, fault, times = 1) =>
      new Promise((applied) => {
        faults.add({ operation, fault, applied, left: times })
      }),
    endFaults: () => faults.clear(),
    requestsOf: (operation) => requests.filter(({ body }) => hasOperation(body, operation)),
    async close() {
      closeConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
