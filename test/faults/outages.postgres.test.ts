import { once } from 'node:events'
import { connect } from 'node:net'
import type { Sql } from '@fusion-gateway/sql'
import { isDatabaseUnavailable } from '@fusion-gateway/sql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { locationOf } from '../support/settings.ts'

const pool = { connectMilliseconds: 500, acquireMilliseconds: 500, statementMilliseconds: 500 }

/**
 * One second is for the server to cancel a statement itself. A request whose key is no longer cached reads it, and once
 * more if that fails, before its own statement: on a busy machine an outage lasts longer than keys are cached. One
 * second is for everything else.
 */
const longestMilliseconds = 3 * (pool.acquireMilliseconds + pool.statementMilliseconds + 1_000) + 1_000

let cluster: Cluster
let proxy: TcpProxy
let tenantAppId: string
let headers: Record<string, string>
let gateway: ListeningGateway

/** The URL of the database through the proxy. */
function urlOfProxy(): string {
  const url = new URL(cluster.url)
  url.port = String(proxy.port)
  return url.href
}

/** Runs SQL in a session that bypasses the proxy. */
async function query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: cluster.adminUrl })
  await client.connect()
  const { rows } = await client.query(text, [...values])
  await client.end()
  return rows
}

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  proxy = await startProxy(Number(new URL(cluster.url).port))
  const { key, ...prepared } = await prepare(cluster)
  tenantAppId = prepared.tenantAppId
  headers = { 'x-api-key': key, 'content-type': 'application/json' }
  await query(
    `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
     SELECT $1, 'usr_' || n, 'Ada', 'ada' || n || '@example.com', now() FROM generate_series(1, 5) AS n`,
    [tenantAppId],
  )
  await query(
    `INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
     SELECT $1, 'acc_' || n, 'usr_' || n, 'TWITCH', 'ada' || n, 'Ada', now() FROM generate_series(1, 5) AS n`,
    [tenantAppId],
  )
  gateway = await listen(urlOfProxy(), { pool })
})
afterAll(async () => {
  if (!canCreateClusters) return
  await gateway.close()
  await proxy.close()
  await cluster.remove()
})

interface GatewayResponse {
  readonly kind: string
  /** The normal response, a response that the database is unavailable, or an invalid one. */
  readonly outcome: 'done' | 'unavailable' | 'wrong'
  readonly summary: string
  readonly milliseconds: number
}

async function send(kind: string, path: string, method: string, body?: object): Promise<GatewayResponse> {
  const startedAt = performance.now()
  const response = await fetch(gateway.address + path, {
    method,
    headers,
    signal: AbortSignal.timeout(10_000),
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const milliseconds = performance.now() - startedAt
  return { kind, outcome: outcomeOf(response, text, method), summary: `${response.status} ${text}`, milliseconds }
}

function outcomeOf({ status, headers }: Response, text: string, method: string): GatewayResponse['outcome'] {
  const hasRetryAfter = Number(headers.get('retry-after')) > 0
  if (status === 503) return hasRetryAfter ? 'unavailable' : 'wrong'
  const { errors } = JSON.parse(text) as { errors?: { extensions: { code: string } }[] }
  // The errors of an operation that runs are within the GraphQL response.
  if (errors) {
    const isUnavailable = errors.every(({ extensions }) => extensions.code === 'SERVICE_UNAVAILABLE')
    return isUnavailable && hasRetryAfter ? 'unavailable' : 'wrong'
  }
  return status === (method === 'POST' && text.includes('"email"') ? 201 : 200) ? 'done' : 'wrong'
}

/** The emails of the users to create, and whether the response was 201. */
type Creations = Map<string, boolean>

let users = 0

const nested = '{ users(first: 5) { nodes { id accounts { id profile { id emails { value } } } } } }'
const sync = 'mutation { syncProfile(input: { accountId: "acc_1", username: "ada" }) { profile { id } } }'
const createJob = 'mutation { createJob(input: { jobType: "none" }) { job { id } } }'

function kindsOfRequest(creations: Creations): Record<string, () => Promise<GatewayResponse>> {
  return {
    list: () => send('list', '/users?limit=5', 'GET'),
    nested: () => send('nested', '/graphql', 'POST', { query: nested }),
    change: () => send('change', '/users/usr_1', 'PUT', { name: 'Ada Lovelace' }),
    // Transactions of several statements.
    sync: () => send('sync', '/graphql', 'POST', { query: sync }),
    job: () => send('job', '/graphql', 'POST', { query: createJob }),
    async create() {
      users += 1
      const email = `made${users}@example.com`
      creations.set(email, false)
      const response = await send('create', '/users', 'POST', { name: 'Ada', email, phone: '1' })
      creations.set(email, response.outcome === 'done')
      return response
    },
  }
}

/** Starts clients that repeat their requests, two for each kind of request. */
function startClients(creations: Creations) {
  const responses: GatewayResponse[] = []
  let sent = 0
  let isOver = false
  let wake = () => {}
  async function client(request: () => Promise<GatewayResponse>): Promise<void> {
    while (!isOver) {
      sent += 1
      responses.push(await request())
      wake()
    }
  }
  const kinds = kindsOfRequest(creations)
  const clients = Object.values(kinds).flatMap((request) => [client(request), client(request)])
  return {
    responses,
    sent: () => sent,
    /** Waits until each kind of request has this outcome, from now on. */
    async untilEachIs(outcome: GatewayResponse['outcome']): Promise<void> {
      const from = responses.length
      const left = new Set(Object.keys(kinds))
      for (let next = from; left.size > 0; ) {
        if (next === responses.length) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
        const reply = responses[next++]
        if (reply?.outcome === 'wrong') throw new Error(`Invalid response: ${reply.kind} ${reply.summary}`)
        if (reply?.outcome === outcome) left.delete(reply.kind)
      }
    },
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(clients)
    },
  }
}

async function probe(path: '/health' | '/ready'): Promise<number> {
  const response = await fetch(gateway.address + path)
  await response.text()
  return response.status
}

interface Outage {
  readonly name: string
  begin(): unknown
  end(): unknown
}

const outages: Outage[] = [
  { name: 'is stopped (fast)', begin: () => cluster.stop('fast'), end: () => cluster.start() },
  { name: 'is stopped (immediate)', begin: () => cluster.stop('immediate'), end: () => cluster.start() },
  { name: 'is frozen', begin: () => cluster.freeze(), end: () => cluster.thaw() },
  { name: 'resets every connection', begin: () => proxy.reset(), end: () => proxy.restore() },
  { name: 'accepts connections but does not answer', begin: () => proxy.hang(), end: () => proxy.restore() },
  { name: 'answers too late', begin: () => proxy.delay(2_500), end: () => proxy.restore() },
]

const killAll = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`
const killOne = `${killAll} AND usename = 'postgres'`

/** Runs `fault` while clients send requests, and compares their responses with the rows of the table. */
async function runWithClients(
  fault: (clients: ReturnType<typeof startClients>) => Promise<void>,
): Promise<GatewayResponse[]> {
  const creations: Creations = new Map()
  const clients = startClients(creations)
  try {
    await clients.untilEachIs('done')
    await fault(clients)
  } finally {
    await clients.stop()
  }
  const { responses } = clients
  expect(responses).toHaveLength(clients.sent())
  expect(responses.filter(({ outcome }) => outcome === 'wrong').map(({ summary }) => summary)).toEqual([])
  expect(Math.max(...responses.map(({ milliseconds }) => milliseconds))).toBeLessThan(longestMilliseconds)
  expect(gateway.log.filter(({ msg }) => msg === 'unexpected error')).toEqual([])

  const rows = await query('SELECT email, count(*)::int AS count FROM "user" WHERE email LIKE $1 GROUP BY email', [
    'made%',
  ])
  const written = new Map(rows.map(({ email, count }) => [email, count]))
  const lost = [...creations].filter(([email, isSettled]) => isSettled && !written.has(email))
  expect(lost).toEqual([])
  expect([...written].filter(([, count]) => count !== 1)).toEqual([])
  expect([...creations.values()]).toContain(true)
  return responses
}

describe.skipIf(!canCreateClusters)(
  'every request gets a response, and nothing is lost or written twice, when the database',
  () => {
    it.each(outages)('$name and recovers', async ({ begin, end }) => {
      let milliseconds = 0
      await runWithClients(async (clients) => {
        await begin()
        try {
          await clients.untilEachIs('unavailable')
          // The result of a check is kept for a second.
          await expect
            .poll(() => Promise.all([probe('/health'), probe('/ready')]), { timeout: 20_000 })
            .toEqual([200, 503])
        } finally {
          await end()
        }
        const ended = performance.now()
        await clients.untilEachIs('done')
        milliseconds = performance.now() - ended
        await expect.poll(() => Promise.all([probe('/health'), probe('/ready')])).toEqual([200, 200])
      })
      expect(milliseconds).toBeLessThan(5_000)
    })

    it('ends all connections repeatedly', async () => {
      await runWithClients(async (clients) => {
        for (let time = 0; time < 10; time += 1) {
          expect((await query(killAll)).length).toBeGreaterThan(0)
          await clients.untilEachIs('done')
          await expect.poll(() => Promise.all([probe('/health'), probe('/ready')])).toEqual([200, 200])
        }
      })
    })

    it('accepts a connection and ends it at once', async () => {
      const url = new URL(cluster.adminUrl)
      // Without TLS, which adds a number of responses that depends on its version.
      ;[url.search, url.port] = ['', String(proxy.port)]
      const { sql, close } = await openDatabase(locationOf(url.href, pool))
      const countUsers = async (transaction: Sql) =>
        Number((await transaction.query({ text: 'SELECT count(*) FROM "user"' }))[0]?.[0])
      await query(killAll)
      // The first two responses belong to the exchange of the password.
      proxy.hang(2)
      const counted = sql.transact(countUsers).catch((error: unknown) => error)
      // The connection receives both messages at once: that it is ready, and that it ends.
      while ((await query(killOne)).length === 0);
      proxy.restore()
      expect(isDatabaseUnavailable(await counted)).toBe(true)
      expect(await sql.transact(countUsers)).toBeGreaterThan(0)
      await close()
    })

    it('is slow, and each response is the normal one', async () => {
      const impatient = gateway
      // However long the statements wait for each other on a busy machine.
      gateway = await listen(urlOfProxy(), { pool: { acquireMilliseconds: 60_000, statementMilliseconds: 60_000 } })
      const responses = await runWithClients(async (clients) => {
        proxy.delay(20)
        await clients.untilEachIs('done')
        await clients.untilEachIs('done')
        proxy.restore()
      })
      await gateway.close()
      gateway = impatient
      expect(responses.filter(({ outcome }) => outcome !== 'done')).toEqual([])
    })
  },
)

describe.skipIf(!canCreateClusters)('500 clients that send their headers a byte at a time', () => {
  it('are all disconnected and do not delay other clients', async () => {
    const headersMilliseconds = 1_000
    const slow = await listen(cluster.url, {
      pool,
      timeouts: {
        headersMilliseconds,
        requestMilliseconds: 5_000,
        keepAliveMilliseconds: 5_000,
        idleMilliseconds: 5_000,
      },
    })
    const head = `GET /users?limit=5 HTTP/1.1\r\nhost: x\r\nx-slow: ${'a'.repeat(10_000)}`
    const startedAt = performance.now()
    const cuts = Array.from({ length: 500 }, async () => {
      const socket = connect(Number(new URL(slow.address).port), '127.0.0.1').on('error', () => undefined)
      let text = ''
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      let sent = 0
      const dribble = setInterval(() => socket.write(head[sent++] ?? 'a'), 100)
      await once(socket, 'close')
      clearInterval(dribble)
      return { text, milliseconds: performance.now() - startedAt }
    })
    const cut = Promise.all(cuts)
    let isCut = false
    void cut.then(() => {
      isCut = true
    })
    const times: number[] = []
    while (!isCut) {
      const sent = performance.now()
      const response = await fetch(`${slow.address}/users?limit=5`, { headers })
      expect([response.status, await response.json()]).toMatchObject([200, { users: [{}, {}, {}, {}, {}] }])
      times.push(performance.now() - sent)
    }
    expect(times.length).toBeGreaterThan(10)
    expect(Math.max(...times)).toBeLessThan(headersMilliseconds)
    for (const { text, milliseconds } of await cut) {
      expect(text).toMatch(/^HTTP\/1.1 408 /)
      expect(milliseconds).toBeGreaterThan(headersMilliseconds * 0.9)
      expect(milliseconds).toBeLessThan(5_000)
    }
    await slow.close()
  })
})
