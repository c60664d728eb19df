import { Pool } from 'undici'
import type { Read } from './shapes.ts'

/** A gateway under test. */
export interface Place {
  readonly address: string
  /**
   * What its reads see, if all of them see the same: a later read must not show less. Undefined if a replica serves
   * some.
   */
  readonly sees: string | undefined
}

export interface Reply {
  readonly status: number
  readonly text: string
  /** The header `cache-status`. */
  readonly cacheStatus: string
}

/** A client of a gateway with connections that stay open. */
export interface Client {
  /** Sends a read, of which every other one asks whether its last response is still the same. */
  read(read: Read, asksForChange: boolean): Promise<Reply>
  send(key: string, method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<Reply>
  close(): Promise<void>
}

/** The most responses that a client keeps to ask whether they have changed. */
const maxKept = 2_000

export function createClient(address: string, connections: number): Client {
  const pool = new Pool(address, { connections, headersTimeout: 60_000, bodyTimeout: 60_000 })
  const kept = new Map<string, { readonly etag: string; readonly text: string; readonly status: number }>()

  async function request(method: string, path: string, headers: Record<string, string>, body?: object) {
    const response = await pool.request({
      method: method as 'GET',
      path,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    const header = (name: string) => String(response.headers[name] ?? '')
    return { status: response.statusCode, text, cacheStatus: header('cache-status'), etag: header('etag') }
  }

  return {
    async read({ viewer, key, path, body }, asksForChange) {
      if (body) return request('POST', path, viewer.headers, body)
      const last = asksForChange ? kept.get(key) : undefined
      const reply = await request('GET', path, { ...viewer.headers, ...(last && { 'if-none-match': last.etag }) })
      if (reply.status === 304 && last) return { ...reply, status: last.status, text: last.text }
      if (reply.etag && kept.size < maxKept) kept.set(key, reply)
      return reply
    },
    send: (key, method, path, body) => request(method, path, { 'x-api-key': key }, body),
    close: () => pool.close(),
  }
}
