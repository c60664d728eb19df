import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A record as the earlier service sends it. */
export type OldRecord = Record<string, unknown>

/** What the earlier service has, and how it decides what its interface leaves open. */
export interface OldServiceOptions {
  readonly key?: string
  readonly users?: () => Iterable<OldRecord>
  /** The profile of an account, if it has one. */
  readonly profileOf?: (accountId: string) => OldRecord | undefined
  readonly jobs?: Readonly<Record<string, OldRecord>>
  /** How GET /fusion/profiles takes the ids: in the body, or in the parameter `account_ids` as JSON. */
  readonly profilesBy?: 'body' | 'query'
  /** Responds instead of the service, if it returns true. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse, count: number) => boolean
}

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A small server of the interface of the earlier service. */
export interface OldService {
  readonly url: string
  readonly requests: ReceivedRequest[]
  close(): Promise<void>
}

/** Starts the earlier service on a free port. */
export async function startOldService(options: OldServiceOptions = {}): Promise<OldService> {
  const requests: ReceivedRequest[] = []
  let count = 0
  const server = createServer(async (request, response) => {
    count += 1
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    const body = Buffer.concat(chunks).toString()
    requests.push({ method, url, headers, body })
    if (options.instead?.(request, response, count)) return
    if (options.key !== undefined && headers['x-api-key'] !== options.key) send(response, 401, { error: 'wrong key' })
    else await respond(url, body, response, options)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function send(response: ServerResponse, status: number, body: unknown, headers: OldRecord = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers } as Record<string, string>)
  response.end(JSON.stringify(body))
}

/** A service that responds to everything with the same JSON. */
export const always =
  (body: unknown, headers: OldRecord = {}): NonNullable<OldServiceOptions['instead']> =>
  (_request, response) => {
    send(response, 200, body, headers)
    return true
  }

async function respond(url: string, body: string, response: ServerResponse, options: OldServiceOptions): Promise<void> {
  const { users = () => [], profileOf = () => undefined, jobs = {}, profilesBy = 'body' } = options
  const { pathname, searchParams } = new URL(url, 'http://old')
  const [, first, second, third] = pathname.split('/')
  if (pathname === '/users') return sendUsers(response, users())
  if (first === 'users') {
    const user = [...users()].find(({ id }) => id === second)
    return send(response, user ? 200 : 404, user ?? { error: 'not found' })
  }
  if (pathname === '/fusion/profiles') {
    const given = profilesBy === 'body' ? body : (searchParams.get('account_ids') ?? '')
    const ids: unknown = given === '' ? undefined : JSON.parse(given)
    if (!Array.isArray(ids)) return send(response, 400, { error: 'ids are missing' })
    return send(response, 200, { profiles: ids.flatMap((id) => profileOf(id) ?? []) })
  }
  const job = second === 'jobs' && third !== undefined ? jobs[decodeURIComponent(third)] : undefined
  send(response, job ? 200 : 404, job ?? { error: 'not found' })
}

/** Sends any number of users in one response, as fast as the client reads. */
async function sendUsers(response: ServerResponse, users: Iterable<OldRecord>): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  await pipeline(Readable.from(usersResponse(users)), response).catch(() => undefined)
}

function* usersResponse(users: Iterable<OldRecord>): Generator<string> {
  let text = '{"users":['
  let separator = ''
  for (const user of users) {
    text += separator + JSON.stringify(user)
    separator = ','
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield `${text}]}`
}
