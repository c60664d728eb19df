import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster, freePort } from '../support/cluster.ts'
import { prepare } from '../support/gateway.ts'
import { completion, transports } from '../support/transports.ts'
import { initSocket } from '../support/web-socket.ts'

let cluster: Cluster
let key: string
let env: Record<string, string>

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  key = (await prepare(cluster)).key
  env = { DATABASE_URL: cluster.url, RATE_LIMIT: '0' }
})
afterAll(() => cluster?.remove())

type Outcome = 'answered' | 'refused' | 'unanswered'

/** Sends a request over the connections of an agent. */
function send(address: string, agent: Agent, path: string, id: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const headers = { 'x-api-key': key, 'x-request-id': id }
    const sent = request(address + path, { agent, headers }, async (response) => {
      const body = await text(response).catch(() => '')
      resolve(body.endsWith('}') && response.statusCode === 200 ? 'answered' : 'unanswered')
    })
    sent.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED' ? 'refused' : 'unanswered'))
    sent.end()
  })
}

describe.skipIf(!canCreateClusters)('SIGTERM', () => {
  it('under load drops no request, closes idle connections, breaks off subscriptions, closes WebSockets with 1001, and exits with 0', async () => {
    const metricsPort = await freePort()
    const gateway = await startGateway({ ...env, METRICS_PORT: String(metricsPort) })
    const { address } = gateway
    const { hostname, port } = new URL(address)

    const metrics = await fetch(`http://${hostname}:${metricsPort}/metrics`)
    expect(await metrics.text()).toContain('fusion_database_connections{state="idle"}')

    const idle = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connect(Number(port), hostname)
        socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
        await once(socket, 'data')
        return socket
      }),
    )
    const closed = Promise.all(idle.map((socket) => once(socket.resume(), 'close')))

    const subscriptions = await Promise.all(
      Object.values(transports).map(async (subscribe) => {
        const subscription = await subscribe(address, key, 'subscription { jobs { id } }')
        await subscription.until('"jobs"')
        return subscription
      }),
    )

    const agent = new Agent({ keepAlive: true, maxSockets: 20 })
    let answered = 0
    const unanswered: string[] = []
    let requests = 0
    async function client() {
      for (;;) {
        requests += 1
        const id = `asked-${requests}-`
        const outcome = await send(address, agent, '/users?limit=5', id)
        if (outcome === 'refused') return
        if (outcome === 'answered') answered += 1
        else unanswered.push(id)
      }
    }
    const clients = Array.from({ length: 20 }, client)
    while (answered < 200) await new Promise(setImmediate)
    const stopped = gateway.stop('SIGTERM')
    await Promise.all(clients)
    const endings = await Promise.all(subscriptions.map(({ ending }) => ending))
    expect(endings.map(({ end }) => end)).toEqual([
      '200 text/event-stream, broken off',
      '200 multipart/mixed, broken off',
      '1001',
    ])
    for (const { text } of endings) expect(text).not.toMatch(completion)
    await closed
    const { code, milliseconds } = await stopped
    expect(code).toBe(0)
    expect(milliseconds).toBeLessThan(10_000)
    // A connection may close while a request is sent on it, or before the gateway has accepted it. Such a request is
    // unknown to the gateway, and the client can send it again.
    const known = unanswered.filter((id) => gateway.output().includes(id))
    expect(known).toEqual([])
    expect(gateway.output().match(/"requestId":"asked-\d+-"/g)).toHaveLength(answered)
    expect(gateway.output()).not.toMatch(/asked-.*cutOff/)
  })

  it('leaves no timer of a subscription that would keep the process', async () => {
    // Yoga has shorter timers in tests.
    const gateway = await startGateway({ ...env, NODE_ENV: 'production', SHUTDOWN_TIMEOUT: '60' })
    for (const subscribe of Object.values(transports))
      await (await subscribe(gateway.address, key, 'subscription { jobs { id } }')).until('"jobs"')
    const exited = once(gateway.child, 'exit')
    gateway.child.kill('SIGTERM')
    await expect.poll(gateway.output, { timeout: 10_000, interval: 10 }).toContain('"stopped"')
    const stoppedAt = performance.now()
    await exited
    expect(performance.now() - stoppedAt).toBeLessThan(2_000)
    expect(gateway.output()).not.toContain('not everything')
  })

  it('cuts off requests and operations that take longer than SHUTDOWN_TIMEOUT and exits with 0, even if the database is frozen', async () => {
    const gateway = await startGateway({ ...env, SHUTDOWN_TIMEOUT: '2' })
    await fetch(`${gateway.address}/users?limit=1`, { headers: { 'x-api-key': key } })
    const socket = await initSocket(gateway.address, key)
    cluster.freeze()
    socket.send({ type: 'subscribe', id: '1', payload: { query: '{ users(first: 1) { nodes { id } } }' } })
    try {
      const hanging = fetch(`${gateway.address}/users?limit=1`, { headers: { 'x-api-key': key } }).catch(() => 'cut')
      const { code, milliseconds } = await gateway.stop('SIGTERM')
      expect(await hanging).toBe('cut')
      expect((await socket.closed).code).toBe(1006)
      expect(code).toBe(0)
      expect(milliseconds).toBeGreaterThan(900)
      expect(milliseconds).toBeLessThan(4_000)
    } finally {
      cluster.thaw()
    }
  })
})

describe.skipIf(!canCreateClusters)('a second signal', () => {
  /** Starts a gateway and sends a request that waits for the database, and then SIGINT. */
  async function interruptRequest(): Promise<{ gateway: RunningGateway; outcome: Promise<number | string> }> {
    const gateway = await startGateway({ ...env, DATABASE_STATEMENT_TIMEOUT: '15' })
    const ask = () => fetch(`${gateway.address}/users?limit=1`, { headers: { 'x-api-key': key } })
    await ask()
    cluster.freeze()
    onTestFinished(() => cluster.thaw())
    const outcome = ask().then(
      ({ status }) => status,
      () => 'cut off',
    )
    const metrics = async () => (await fetch(`${gateway.address}/metrics`)).text()
    await expect.poll(metrics, { timeout: 10_000 }).toMatch(/{state="in_use"} [1-9]/)
    gateway.child.kill('SIGINT')
    return { gateway, outcome }
  }

  it('of the same moment is the Ctrl-C that npm passes on: requests under way are answered', async () => {
    const { gateway, outcome } = await interruptRequest()
    // Not SIGINT again: the kernel may deliver two as one.
    const ended = gateway.stop('SIGTERM')
    await expect.poll(gateway.output, { timeout: 10_000 }).toContain('stopping')
    cluster.thaw()
    expect(await outcome).toBe(200)
    expect((await ended).code).toBe(0)
  })

  it('closes connections in use', async () => {
    const { gateway, outcome } = await interruptRequest()
    const ended = once(gateway.child, 'exit')
    // Later than the signals that count as one. Once only: a third one ends the process at once.
    await setTimeout(700)
    gateway.child.kill('SIGINT')
    expect(await outcome).toBe('cut off')
    cluster.thaw()
    expect((await ended)[0]).toBe(0)
  })
})
