import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get as request } from 'node:http'
import { connect } from 'node:net'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { patientLoad } from '../support/patient-load.ts'

let cluster: Cluster
let headers: Record<string, string>
let gateway: ListeningGateway

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  headers = { 'x-api-key': (await prepare(cluster)).key }
})
afterAll(() => cluster?.remove())

async function get(path: string) {
  const response = await fetch(gateway.address + path, { headers })
  const body = (await response.json()) as { code?: string }
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body,
  }
}

/** A request that waits for a lock ends with the lock. */
const patience = { pool: { statementMilliseconds: 120_000 } }

/** Runs work while another session has the table. */
async function whileLocked<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  const session = new pg.Client({ connectionString: cluster.adminUrl })
  await session.connect()
  try {
    await session.query(`BEGIN; LOCK TABLE ${table}`)
    return await work()
  } finally {
    await session.end()
  }
}

describe.skipIf(!canCreateClusters)('an overloaded gateway', () => {
  afterEach(() => gateway.close())

  it('sheds requests at once without a statement, and answers the requests that it accepted', async () => {
    gateway = await listen(cluster.url, { ...patience, load: { ...patientLoad, maxInFlight: 10 } })
    // An operation whose first run took long runs twice at a time for a key, until others have been short.
    for (let run = 0; run < 50; run += 1) await get('/users/warm')
    const before = gateway.statements.length
    const accepted = await whileLocked('"user"', async () => {
      const waiting = Array.from({ length: 10 }, (_, index) => get(`/users/usr_${index}`))
      const reads = () => gateway.statements.slice(before).filter((sql) => sql.includes('FROM "user"')).length
      await expect.poll(reads, { timeout: 60_000 }).toBe(waiting.length)
      const rejected = await Promise.all(Array.from({ length: 50 }, () => get('/users/usr_1')))
      for (const { status, retryAfter, body } of rejected) {
        expect({ status, retryAfter, body }).toMatchObject({
          status: 503,
          retryAfter: '5',
          body: { code: 'SERVICE_UNAVAILABLE' },
        })
      }
      expect((await get('/health')).status).toBe(200)
      return waiting
    })
    for (const response of await Promise.all(accepted)) expect(response.status).toBe(404)
    const shed = gateway.log.filter(({ status }) => status === 503)
    expect(shed).toHaveLength(50)
    expect(new Set(shed.map(({ sql }) => sql))).toEqual(new Set([0]))
    expect((await get('/users/usr_1')).status).toBe(404)
  })

  it('keeps a fifth of its room from clients without a key', async () => {
    gateway = await listen(cluster.url, { ...patience, load: { ...patientLoad, maxInFlight: 10 } })
    await get('/users/warm')
    const statuses: number[] = []
    const strangers = await whileLocked('signing_key', async () => {
      const waiting = Array.from({ length: 30 }, async () => {
        const { status } = await fetch(`${gateway.address}/.well-known/jwks.json`)
        statuses.push(status)
        return status
      })
      // The others wait for the table.
      await expect.poll(() => statuses).toHaveLength(22)
      expect((await get('/users/usr_1')).status).toBe(404)
      return waiting
    })
    expect(new Set((await Promise.all(strangers)).toSorted())).toEqual(new Set([200, 503]))
  })

  it('answers all requests of twice as many clients as it has room for', async () => {
    gateway = await listen(cluster.url, {
      ...patience,
      load: { ...patientLoad, maxInFlight: 20, maxInFlightPerKey: 1_000 },
    })
    let isOver = false
    const statuses = new Map<number, number>()
    async function client() {
      while (!isOver) {
        const { status } = await get('/users?limit=5')
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    const clients = Array.from({ length: 40 }, client)
    while ((statuses.get(200) ?? 0) < 500) await new Promise(setImmediate)
    isOver = true
    await Promise.all(clients)
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
  })

  it('sheds requests while its event loop is late', async () => {
    gateway = await listen(cluster.url, {
      load: { ...patientLoad, maxEventLoopDelayMilliseconds: 30 },
    })
    const work = setInterval(() => {
      const until = performance.now() + 150
      while (performance.now() < until);
    }, 1)
    while ((await get('/users/usr_1')).status !== 503);
    expect((await get('/health')).status).toBe(200)
    clearInterval(work)
    await expect.poll(async () => (await get('/users/usr_1')).status, { timeout: 120_000 }).toBe(404)
  })
})

describe.skipIf(!canCreateClusters)('a gateway with few descriptors', () => {
  it('answers on new and on open connections while idle ones use up the rest, and can connect to the database again', async () => {
    const limited = await startGateway({ DATABASE_URL: cluster.url }, [], {
      within: ['sh', '-c', 'ulimit -n 256 && exec "$0" "$@"'],
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const askOnOpenConnection = async () => {
      const [response] = await once(request(`${limited.address}/users?limit=1`, { agent, headers }), 'response')
      return response.resume().statusCode
    }
    const askOnNewConnection = async () =>
      (await fetch(`${limited.address}/users?limit=1`, { headers: { ...headers, connection: 'close' } })).status
    expect(await askOnOpenConnection()).toBe(200)
    const { hostname, port } = new URL(limited.address)
    const idle = Array.from({ length: 400 }, () => connect(Number(port), hostname).on('error', () => undefined))
    await Promise.all(idle.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
    expect(await askOnNewConnection()).toBe(200)
    await expect.poll(limited.output).toContain('there are too many connections')

    await terminateConnections()
    // The first request can fail because its connection ends. The next one needs a new connection.
    await expect.poll(askOnOpenConnection).toBe(200)
    expect(await askOnNewConnection()).toBe(200)

    for (const socket of idle) socket.destroy()
    expect(await askOnNewConnection()).toBe(200)
    agent.destroy()
    expect(await limited.stop()).toMatchObject({ code: 0 })
  })

  it('answers 503 while there is none for a connection to the database, and 200 afterwards', async () => {
    const limited = await startGateway({ DATABASE_URL: cluster.url })
    const allow = (descriptors: number) =>
      execFileSync('prlimit', ['--pid', String(limited.child.pid), `--nofile=${descriptors}:`])
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async () => {
      const [response] = await once(request(`${limited.address}/users?limit=1`, { agent, headers }), 'response')
      return response.resume().statusCode
    }
    expect(await ask()).toBe(200)
    allow(3)
    // A connection that was being opened is not yet listed by PostgreSQL, and would serve the requests.
    await expect
      .poll(async () => {
        await terminateConnections()
        return ask()
      })
      .toBe(503)
    // The first request can fail because its connection ends. The next one needs a new connection.
    await expect.poll(async () => ((await ask()) === 503 ? limited.output() : '')).toContain('EMFILE')
    allow(1_024)
    expect(await ask()).toBe(200)
    agent.destroy()
    await limited.stop()
  })
})

/** Closes the connections of the gateway to the database, and waits for their processes to end. */
async function terminateConnections(): Promise<void> {
  const session = new pg.Client({ connectionString: cluster.adminUrl })
  await session.connect()
  await session.query(
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'fusion-gateway'`,
  )
  await session.end()
}
