import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { fusion, type RunningGateway, startGateway } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, isDistributed, ownerUrl } from '../support/postgresql.ts'
import { childrenOf, isRunning, readLog, startClients, statusOf, untilGone, untilLogged } from '../support/processes.ts'
import { isRedisRunning, redisPort } from '../support/redis.ts'
import { initSocket, type SocketClient } from '../support/web-socket.ts'

const two = ['--processes', '2']

/** Whether this machine has the command that starts a process on a terminal. */
const hasTerminals = spawnSync('script', ['--version']).status === 0

describe.skipIf(!hasServer)('serve --processes', () => {
  let database: CommandDatabase
  let env: Record<string, string>
  let key: string
  const started: RunningGateway[] = []

  async function start(more: Record<string, string> = {}): Promise<RunningGateway> {
    const gateway = await startGateway({ ...env, ...more }, two)
    started.push(gateway)
    // The line of a process can arrive after that of the supervisor.
    await vi.waitUntil(() => childrenOf(gateway).length === 2, { timeout: 30_000, interval: 20 })
    return gateway
  }

  /** Makes statements on users wait. */
  async function lockUsers() {
    const session = new pg.Client({ connectionString: env['DATABASE_URL'] })
    await session.connect()
    await session.query('BEGIN; LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE')
    const count =
      'SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND datname = current_database()'
    // The statements of a gateway wait at the tenant's node.
    const waiting = isDistributed
      ? `SELECT FROM run_command_on_all_nodes('${count}'), generate_series(1, result::integer)`
      : `SELECT FROM pg_locks WHERE NOT granted AND relation = '"user"'::regclass`
    return {
      untilWaiting: (count: number) =>
        expect.poll(async () => (await session.query(waiting)).rowCount, { timeout: 10_000 }).toBe(count),
      unlock: () => session.end(),
    }
  }

  beforeAll(async () => {
    database = await createCommandDatabase()
    env = { ...database.env, SHUTDOWN_TIMEOUT: '20' }
    await fusion(['tenants', 'create', 'Acme'], env)
    key = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
  })
  afterAll(async () => {
    for (const { child } of started) child.kill('SIGKILL')
    await database.remove()
  })

  /**
   * Spends all points of the key: an operation first, and then 200 on connections of their own.
   *
   * @returns the points of the first process per minute, the cost of an operation, and how many were accepted
   */
  async function spendAll({ address }: RunningGateway) {
    const ask = () =>
      fetch(`${address}/graphql`, {
        method: 'POST',
        // It uses all that it may cost, and its response is not kept.
        body: JSON.stringify({ query: `{ nodes(ids: [${'"nobody" '.repeat(60)}]) { id } }` }),
        headers: { 'content-type': 'application/json', 'x-api-key': key, connection: 'close' },
      })
    const { headers } = await ask()
    const points = Number(/q=(\d+)/.exec(headers.get('ratelimit-policy') ?? '')?.[1])
    const cost = points - Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    expect(cost).toBeGreaterThan(10)
    const statuses = await Promise.all(Array.from({ length: 200 }, async () => (await ask()).status))
    return { points, cost, accepted: 1 + statuses.filter((status) => status === 200).length }
  }

  it('responds with both processes on one port, each with its share of the points; adds up their metrics, replaces one that is killed, and stops at SIGTERM without an orphan', async () => {
    const gateway = await start({ RATE_LIMIT: '1000' })
    const { points, cost, accepted } = await spendAll(gateway)
    expect(points).toBe(500)
    expect(accepted).toBe(2 * Math.floor(500 / cost))
    const answering = () =>
      new Set(
        readLog(gateway.output())
          .filter(({ msg }) => msg === 'request')
          .map(({ pid }) => pid),
      )
    await expect.poll(answering).toEqual(new Set(childrenOf(gateway)))

    const counted = async () => {
      const text = await (await fetch(`${gateway.address}/metrics`, { headers: { connection: 'close' } })).text()
      return Number(/duration_seconds_count\{route="POST \/graphql".*status="200"\} (\d+)/.exec(text)?.[1])
    }
    expect(await counted()).toBe(accepted)

    const [killed = 0, other] = childrenOf(gateway)
    process.kill(killed, 'SIGKILL')
    const during = await Promise.all(Array.from({ length: 20 }, () => statusOf(`${gateway.address}/health`, key)))
    // A connection that was on its way to the killed process is closed.
    expect(during.filter((status) => status !== 200).length, String(during)).toBeLessThanOrEqual(1)
    await expect.poll(() => childrenOf(gateway).length, { timeout: 30_000 }).toBe(3)
    await untilLogged(gateway, 'a process has ended: another one replaces it')
    expect(childrenOf(gateway).filter(isRunning)).toEqual([other, childrenOf(gateway)[2]])
    expect((await gateway.stop('SIGTERM')).code).toBe(0)
    expect(childrenOf(gateway).filter(isRunning)).toEqual([])
  })

  it('closes the connection that was on its way to a process that is killed', async () => {
    const gateway = await start()
    const [stuck = 0] = childrenOf(gateway)
    process.kill(stuck, 'SIGSTOP')
    // The supervisor passes one connection to the process that does not accept it, and all others to the other process.
    let responses = 0
    const statuses = Array.from({ length: 10 }, () => statusOf(`${gateway.address}/health`, key))
    for (const status of statuses) status.then(() => (responses += 1))
    await expect.poll(() => responses, { timeout: 10_000 }).toBe(9)
    process.kill(stuck, 'SIGKILL')
    expect((await Promise.all(statuses)).filter((status) => status !== 200)).toEqual(['ECONNRESET'])
    await gateway.stop()
  })

  it.skipIf(!isRedisRunning)('counts points of both processes together in Redis', async () => {
    const gateway = await start({ RATE_LIMIT: '1000', REDIS_URL: `redis://127.0.0.1:${redisPort}` })
    const { points, cost, accepted } = await spendAll(gateway)
    expect(points).toBe(1_000)
    expect(accepted).toBe(Math.floor(1_000 / cost))
    await gateway.stop()
  })

  describe('with files that are read at SIGHUP', () => {
    let gateway: RunningGateway
    let folder: string
    let issuers: string
    let documents: string
    beforeAll(async () => {
      folder = mkdtempSync(path.join(tmpdir(), 'fusion-'))
      issuers = path.join(folder, 'issuers.json')
      documents = path.join(folder, 'documents.json')
      writeFileSync(issuers, '[]')
      writeFileSync(documents, '{}')
      gateway = await start({ TRUSTED_ISSUERS: issuers, TRUSTED_DOCUMENTS: documents })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it('is restarted one by one without a failed request, also twice', async () => {
      const before = childrenOf(gateway)
      const stopClients = startClients(`${gateway.address}/users?limit=1`, key, 20)
      gateway.child.kill('SIGHUP')
      await untilLogged(gateway, 'restarted')
      gateway.child.kill('SIGHUP')
      await untilLogged(gateway, 'restarted', 2)
      const seen = await stopClients()
      expect(Object.keys(seen)).toEqual(['200'])
      expect(before.filter(isRunning)).toEqual([])
      const after = childrenOf(gateway)
      expect(after).toHaveLength(6)
      expect(after.filter(isRunning)).toEqual(after.slice(4))
      // A process stops when its successor serves. Lines of several processes can arrive out of order, so their times
      // are compared.
      const changes = readLog(gateway.output())
        .map(({ msg, time }) => ({
          time: Number(time),
          change: String(msg).startsWith('Process listening') ? 1 : Number(msg === 'stopping') * -1,
        }))
        .filter(({ change }) => change !== 0)
        .toSorted((one, other) => one.time - other.time || other.change - one.change)
        .map(({ change }) => change)
      const serving = changes.map((_, index) => sum(changes.slice(0, index + 1)))
      expect(serving).toEqual([1, 2, 3, 2, 3, 2, 3, 2, 3, 2])
    })

    it('has the trusted documents that the files have then', async () => {
      const url = `${gateway.address}/graphql?documentId=who`
      writeFileSync(documents, '{ "who": "{ viewer { keyName } }" }')
      expect(await statusOf(url, key)).toBe(403)
      gateway.child.kill('SIGHUP')
      await untilLogged(gateway, 'restarted', 3)
      expect(await statusOf(url, key)).toBe(200)
    })

    it('keeps the processes that serve if a restart cannot start a new one', async () => {
      writeFileSync(issuers, 'wrong')
      gateway.child.kill('SIGHUP')
      await untilLogged(gateway, 'a new process did not start: the old ones go on')
      expect(childrenOf(gateway).filter(isRunning)).toHaveLength(2)
      expect(await statusOf(`${gateway.address}/users`, key)).toBe(200)
      writeFileSync(issuers, '[]')
      gateway.child.kill('SIGHUP')
      await untilLogged(gateway, 'restarted', 4)
      expect(await statusOf(`${gateway.address}/users`, key)).toBe(200)
    })

    it('ends with the error of a process if none can be started again', async () => {
      writeFileSync(issuers, 'wrong')
      const ended = once(gateway.child, 'exit')
      for (const pid of childrenOf(gateway).filter(isRunning)) process.kill(pid, 'SIGKILL')
      expect((await ended)[0]).toBe(1)
      expect(gateway.output()).toMatch(/^TRUSTED_ISSUERS: /m)
    })
  })

  it.each(['SIGINT', 'SIGKILL'] as const)('finishes requests under way after %s', async (signal) => {
    const gateway = await start({ DATABASE_STATEMENT_TIMEOUT: '15' })
    const children = childrenOf(gateway)
    const users = await lockUsers()
    const statuses = Promise.all([1, 2].map(() => statusOf(`${gateway.address}/users?limit=1`, key)))
    await users.untilWaiting(2)
    const exited = once(gateway.child, 'exit')
    gateway.child.kill(signal)
    if (signal === 'SIGINT') {
      // Ctrl-C reaches all processes, and npm passes on the one that it receives.
      for (const pid of children) process.kill(pid, signal)
      gateway.child.kill(signal)
    }
    await untilLogged(gateway, 'stopping', 2)
    await users.unlock()
    expect(await statuses).toEqual([200, 200])
    expect((await exited)[0]).toBe(signal === 'SIGINT' ? 0 : null)
    await untilGone(children)
  })

  it('completes no subscription and closes WebSockets with 1001 in a restart, and their clients find another process', async () => {
    const gateway = await start()
    /** As clients do, it tries again if the process that it has reached is about to stop. */
    const follow = async (): Promise<SocketClient> => {
      const client = await initSocket(gateway.address, key).catch(() => undefined)
      client?.send({ type: 'subscribe', id: '1', payload: { query: 'subscription { jobs(first: 1) { id } }' } })
      const first = await client?.next()
      if (!client || !first) return follow()
      expect(first).toMatchObject({ type: 'next' })
      return client
    }
    const clients = await Promise.all(Array.from({ length: 6 }, follow))
    gateway.child.kill('SIGHUP')
    for (const { next, closed } of clients) {
      expect(await next()).toBeUndefined()
      expect((await closed).code).toBe(1001)
      const { socket } = await follow()
      socket.terminate()
    }
    await untilLogged(gateway, 'restarted')
  })

  it('closes connections in use at the second signal', async () => {
    const gateway = await start({ DATABASE_STATEMENT_TIMEOUT: '15' })
    const users = await lockUsers()
    const status = statusOf(`${gateway.address}/users?limit=1`, key)
    await users.untilWaiting(1)
    const ended = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    await untilLogged(gateway, 'stopping', 2)
    const again = setInterval(() => gateway.child.kill('SIGTERM'), 100)
    expect(await status).toBe('ECONNRESET')
    clearInterval(again)
    await users.unlock()
    expect((await ended)[0]).toBe(0)
  })

  it('serves and stops while nobody reads its log', async () => {
    const gateway = await start()
    const [first = 0] = childrenOf(gateway)
    const agent = new Agent({ keepAlive: true, maxSockets: 20 })
    const send = (count: number) =>
      Promise.all(Array.from({ length: count }, () => statusOf(`${gateway.address}/${'x'.repeat(100)}`, key, agent)))
    gateway.child.stdout?.pause()
    await send(2_000)
    // Node sets the output that the processes share to blocking mode when one of them ends.
    process.kill(first, 'SIGTERM')
    await untilGone([first])
    await send(100)
    expect(await statusOf(`${gateway.address}/ready`, key)).toBe(200)
    const ended = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
    agent.destroy()
  })

  it.skipIf(!hasTerminals)('stops when its terminal is closed', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'fusion-'))
    const log = path.join(folder, 'log')
    const command = `exec "${process.execPath}" src/cli.ts serve --processes 2 > "${log}" 2>&1`
    const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: { ...process.env, ...env, PORT: '0' },
      stdio: 'ignore',
    })
    const lines = () => readLog(readFileSync(log, { encoding: 'utf8', flag: 'a+' }))
    const line = () => lines().find(({ msg }) => String(msg).startsWith('Server listening'))
    await expect.poll(line, { timeout: 30_000 }).toBeDefined()
    const supervisor = Number(line()?.['pid'])
    onTestFinished(() => {
      if (isRunning(supervisor)) process.kill(supervisor, 'SIGKILL')
    })
    process.kill(supervisor, 'SIGHUP')
    expect((await once(terminal, 'exit'))[0]).toBe(0)
    expect(lines().filter(({ msg }) => msg === 'stopped')).toHaveLength(2)
    rmSync(folder, { recursive: true })
  })

  it('shows the metrics of all processes on METRICS_PORT', async () => {
    const [metricsPort] = await freePorts(1)
    const gateway = await start({ METRICS_PORT: String(metricsPort) })
    const counted = async () => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      const count = /duration_seconds_count\{route="GET \/users".*status="200"\} (\d+)/.exec(text)?.[1]
      // Unlike counts, amounts do not stay when a process stops.
      const maxDescriptors = /^process_max_fds (\d+)/m.exec(text)?.[1]
      return { count: Number(count), hasLag: text.includes('nodejs_eventloop_lag_p99_seconds 0.'), maxDescriptors }
    }
    for (let number = 0; number < 10; number += 1) await statusOf(`${gateway.address}/users?limit=1`, key)
    const before = await counted()
    expect(before).toMatchObject({ count: 10, hasLag: true })
    expect(await statusOf(`${gateway.address}/metrics`, key)).toBe(404)
    gateway.child.kill('SIGHUP')
    await untilLogged(gateway, 'restarted')
    await statusOf(`${gateway.address}/users?limit=1`, key)
    await expect.poll(counted, { timeout: 5_000 }).toEqual({ ...before, count: 11 })
    await gateway.stop()
  })

  it('prints one error and exits with 1 if it cannot start', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const address = holder.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const serve = async (variables: Record<string, string>, args: readonly string[] = two) => {
      const { code, stderr } = await fusion(['serve', ...args], { PORT: '0', ...variables })
      return { code, stderr }
    }
    expect(await serve({ ...env, PORT: port })).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Another program uses the port \d+ of 127.0.0.1\. .*\n$/),
    })
    holder.close()
    expect(await serve({ DATA_DIR: '/nowhere' }, ['--processes', '3'])).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^--processes 3 needs PostgreSQL.*\n$/),
    })
    await createDatabaseOfOwner('fusion_test_without_migrations')
    expect(await serve({ DATABASE_URL: ownerUrl('fusion_test_without_migrations') })).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^The database lacks \d+ migration\(s\): .*\nApply them with: .*\n$/),
    })
    await dropDatabase('fusion_test_without_migrations')
    expect((await serve(env, ['--processes', '65'])).code).toBe(2)
  })
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  const ports: number[] = []
  for (const server of servers) {
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address) ports.push(address.port)
    server.close()
  }
  return ports
}
