import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { shareSession } from './direct-sql.ts'
import { createTenants, type Tenant, tokensOf } from './people.ts'
import { type CheckerResult, runChecker } from './run-checker.ts'

let app: TestApp
let address: string
let tenants: Tenant[]

beforeAll(async () => {
  app = await startTestApp({ keyCacheMilliseconds: 60_000 })
  address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const sql = shareSession(app.database)
  tenants = await createTenants(app.database, sql, { tenants: 2, people: 4 }, tokensOf(address))
})
afterAll(() => app.close())

/** What a cache keeps a response under: the request, and who sent it. */
type KeyOf = (request: IncomingMessage, body: string) => string

/** Runs the checker against a cache in front of the gateway, which keeps responses to reads. */
async function checkCache(keyOf: KeyOf, milliseconds: number, until: 'stale' | 'wrong'): Promise<CheckerResult> {
  const kept = new Map<string, { readonly until: number; readonly response: Promise<[number, string]> }>()
  const forward = async (
    { method = '', url = '', headers }: IncomingMessage,
    body: string,
  ): Promise<[number, string]> => {
    const { 'x-api-key': key, authorization } = headers
    const response = await fetch(address + url, {
      method,
      headers: {
        ...(typeof key === 'string' && { 'x-api-key': key }),
        ...(authorization !== undefined && { authorization }),
        ...(body !== '' && { 'content-type': 'application/json' }),
      },
      ...(body !== '' && { body }),
    })
    return [response.status, await response.text()]
  }
  const server = createServer(async (request, reply) => {
    const body = await text(request)
    const isRead = request.method === 'GET' || (request.method === 'POST' && !body.includes('mutation'))
    const key = `${request.url} ${body} ${keyOf(request, body)}`
    const found = isRead ? kept.get(key) : undefined
    const isFresh = found !== undefined && found.until > performance.now()
    const response = isFresh ? found.response : forward(request, body)
    if (isRead && !isFresh) kept.set(key, { until: performance.now() + milliseconds, response })
    const [status, answer] = await response
    reply.writeHead(status, { 'cache-status': isFresh ? 'cache; hit' : 'cache; fwd=miss' }).end(answer)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await runChecker({
      places: [{ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sees: 'the database' }],
      sql: shareSession(app.database),
      database: app.database,
      tenants,
      readers: 4,
      writers: 2,
      seed: 1,
      readsPerWrite: 10,
      isOver: (counts) => counts.reads >= 2_000 || counts[until] > 0,
    })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const withCredentials: KeyOf = ({ headers }) => `${headers['x-api-key']} ${headers.authorization}`

describe('the checker finds a cache', () => {
  it('that keeps a response for a moment', async () => {
    const { stale, wrong, hits } = await checkCache(withCredentials, 300, 'stale')
    expect(hits).toBeGreaterThan(0)
    expect(stale).toBeGreaterThan(0)
    expect(wrong).toBe(0)
  })

  it('that shares responses between viewers', async () => {
    const { wrong } = await checkCache(() => '', 50, 'wrong')
    expect(wrong).toBeGreaterThan(0)
  })
})
