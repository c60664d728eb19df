import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  createRateLimit,
  createRecentWrites,
  loadRedis,
  type RateLimit,
  type RedisConnection,
} from '@fusion-gateway/limits'
import { createMetrics } from '@fusion-gateway/telemetry'
import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePort } from '../support/cluster.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { isRedisRunning, redisPort } from '../support/redis.ts'

const { connectToRedis } = await loadRedis()

const hasServer = spawnSync('redis-server', ['--version']).status === 0

/** Starts a Redis server of its own. */
async function startRedis() {
  const port = await freePort()
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''])
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept connections')) break
  return {
    port,
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

/** A tenant and its only key. */
const payer = (tenantAppId: string) => ({ tenantAppId, keyId: 'key' })

describe.skipIf(!isRedisRunning)('gateways that count in one Redis', () => {
  const lines: string[] = []
  const metrics = createMetrics()
  const log = { error: () => undefined, warn: (_details: object, message: string) => void lines.push(message) }
  let proxy: TcpProxy
  let connections: RedisConnection[]
  let limits: RateLimit[]

  beforeAll(async () => {
    proxy = await startProxy(redisPort)
    connections = [proxy.port, redisPort].map((port) => connectToRedis(`redis://127.0.0.1:${port}`, log))
    limits = connections.map((connection) => createRateLimit(100, { log, redis: connection, processes: 2, metrics }))
    for (const connection of connections) await vi.waitFor(() => expect(connection.isReady()).toBe(true))
  })
  afterAll(async () => {
    for (const connection of connections) connection.close()
    await proxy.close()
  })

  const spend = (gateway: number, key: string, points: number) =>
    limits[gateway]?.spend(payer(key), points).then(
      (budget) => budget?.remaining,
      (error: { code: string }) => error.code,
    )

  it('share the points that a tenant has spent', async () => {
    const key = `key_${crypto.randomUUID()}`
    expect(await spend(0, key, 60)).toBe(40)
    expect(await spend(1, key, 40)).toBe(0)
    expect(await spend(0, key, 1)).toBe('RATE_LIMITED')
    expect(await spend(1, `${key}_other`, 1)).toBe(99)
  })

  it('take points of a user, of all users and of the tenant, or of none of them', async () => {
    const tenant = `ten_${crypto.randomUUID()}`
    const ada = { tenantAppId: tenant, keyId: 'key', userId: 'ada' }
    const bob = { ...ada, userId: 'bob' }
    const limit = createRateLimit(100, { log, redis: connections[1], pointsPerUser: 60 })
    expect(await limit.spend(ada, 50)).toMatchObject({ points: 60, remaining: 10 })
    await expect(limit.spend(ada, 11)).rejects.toThrow('than the user has left in this minute (10)')
    expect(await limit.spend(bob, 25)).toMatchObject({ points: 75, remaining: 0 })
    await expect(limit.spend(bob, 1)).rejects.toThrow(
      "than the users of the tenant's tokens have left in this minute (0)",
    )
    expect(await spend(0, tenant, 25)).toBe(0)
  })

  it('take no points for a rejected operation', async () => {
    const key = `key_${crypto.randomUUID()}`
    expect(await Promise.all([spend(0, key, 90), spend(1, key, 100), spend(0, key, 10)])).toEqual(
      expect.arrayContaining(['RATE_LIMITED']),
    )
    // In any order, a rejected operation does not cause the rejection of another one.
    const left = await spend(0, key, 0)
    expect([0, 90]).toContain(left)
    expect(await spend(1, key, 1)).toBe(left === 0 ? 'RATE_LIMITED' : 89)
  })

  it('take points for work that is done, even if the key does not have enough', async () => {
    const key = `key_${crypto.randomUUID()}`
    expect(await limits[0]?.charge(payer(key), 70)).toMatchObject({ remaining: 30 })
    expect(await limits[1]?.charge(payer(key), 70)).toMatchObject({ remaining: 0 })
    expect(await spend(0, key, 0)).toBe('RATE_LIMITED')
  })

  it('give back what was not used, for all of them', async () => {
    const tenant = `ten_${crypto.randomUUID()}`
    const ada = { tenantAppId: tenant, keyId: 'key', userId: 'ada' }
    const limit = createRateLimit(100, { log, redis: connections[1], pointsPerUser: 60 })
    const points = await limit.reserve(ada, { requested: 50 })
    expect(await spend(0, tenant, 51)).toBe('RATE_LIMITED')
    points.begin()
    points.use(20)
    await points.settle()
    expect(points.budget).toMatchObject({ points: 60, remaining: 40 })
    points.end()
    // Sent without waiting, and on the same connection before what follows.
    expect(await limit.spend(ada, 0)).toMatchObject({ points: 60, remaining: 40 })
    expect(await spend(0, tenant, 51)).toBe(29)
  })

  it('give nothing back to another minute than the one from which it was taken', async () => {
    const tenant = `ten_${crypto.randomUUID()}`
    const key = `fusion-gateway:rate:{${tenant}}`
    const points = await (limits[1] as RateLimit).reserve(payer(tenant), { requested: 50 })
    const redis = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
    // The minute ends, and another one begins.
    await redis.del(key)
    expect(await spend(1, tenant, 30)).toBe(70)
    await redis.pExpire(key, 59_999)
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 5_000)
    points.end()
    vi.restoreAllMocks()
    expect(await spend(1, tenant, 0)).toBe(70)
    // Of a minute that is over by the clock of this process, Redis is not asked.
    const late = await (limits[1] as RateLimit).reserve(payer(tenant), { requested: 50 })
    const [connection] = connections.slice(1) as [RedisConnection]
    const sent = vi.spyOn(connection, 'runScript')
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
    late.end()
    expect(sent).not.toHaveBeenCalled()
    vi.restoreAllMocks()
    await redis.close()
  })

  it('end a minute a minute after it began, whatever is given back or asked', async () => {
    const tenant = `ten_${crypto.randomUUID()}`
    const key = `fusion-gateway:rate:{${tenant}}`
    const redis = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
    await spend(1, tenant, 0)
    await redis.pExpire(key, 30_000)
    for (const points of [0, 0, 5]) await spend(1, tenant, points)
    expect(await redis.pTTL(key)).toBeLessThanOrEqual(30_000)
    const points = await (limits[1] as RateLimit).reserve(payer(tenant), { requested: 50 })
    points.end()
    await spend(1, tenant, 0)
    expect(await redis.pTTL(key)).toBeLessThanOrEqual(30_000)
    await redis.close()
  })

  it('share that a key has written, for the maximum lag of a replica', async () => {
    const [one, other] = connections.map((connection) => createRecentWrites(300, connection))
    const key = `key_${crypto.randomUUID()}`
    expect(await other?.has(key)).toBe(false)
    await one?.note(key)
    expect([await one?.has(key), await other?.has(key)]).toEqual([true, true])
    await vi.waitFor(async () => expect([await one?.has(key), await other?.has(key)]).toEqual([false, false]))
  })

  it('do not wait when Redis hangs', async () => {
    const key = `key_${crypto.randomUUID()}`
    const [connection] = connections
    proxy.hang()
    const began = performance.now()
    expect(await spend(0, key, 10)).toBe(40)
    const waited = performance.now()
    expect(await createRecentWrites(1_000, connection).has(key)).toBe(false)
    await createRecentWrites(1_000, connection).note(key)
    // Only the first call waits, because the gateway then pauses its use of Redis.
    expect(performance.now() - waited).toBeLessThan(waited - began)
    proxy.restore()
    const left = await spend(1, key, 5)
    await vi.waitFor(async () => expect(await spend(0, key, 0)).toBe(left), { timeout: 15_000, interval: 200 })
  })

  it('count separately and log it while Redis is unreachable, and share the count when Redis is reachable again', async () => {
    const key = `key_${crypto.randomUUID()}`
    expect(await spend(0, key, 10)).toBe(90)
    proxy.cut()
    await vi.waitFor(() => expect(connections[0]?.isReady()).toBe(false))
    // The share of one of two processes.
    expect(await spend(0, key, 51)).toBe('RATE_LIMITED')
    expect(await spend(0, key, 50)).toBe(0)
    expect(await spend(0, key, 1)).toBe('RATE_LIMITED')
    expect(await spend(1, key, 10)).toBe(80)
    expect(lines).toContain('Redis is not reachable')
    expect(await metrics.registry.metrics()).toContain('fusion_rate_limit_alone 1')
    expect(await createRecentWrites(1_000, connections[0]).has(key)).toBe(false)
    expect(lines).toContain('Redis does not answer: this process counts points by itself')
    proxy.restore()
    await vi.waitFor(() => expect(lines).toContain('Redis is reachable again'), { timeout: 10_000 })
    await vi.waitFor(async () => expect(await spend(0, key, 1)).toBeGreaterThan(70), { timeout: 5_000 })
    expect(await spend(1, key, 0)).toBe(79)
    expect(await metrics.registry.metrics()).toContain('fusion_rate_limit_alone 0')
  })
})

it.skipIf(!hasServer)('a gateway whose Redis has become a replica connects again, and says so', async () => {
  const [first, second] = await Promise.all([startRedis(), startRedis()])
  const proxy = await startProxy(first.port)
  const lines: string[] = []
  const log = { error: () => undefined, warn: (_details: object, message: string) => void lines.push(message) }
  const connection = connectToRedis(`redis://127.0.0.1:${proxy.port}`, log)
  const other = connectToRedis(`redis://127.0.0.1:${second.port}`, log)
  const limits = [connection, other].map((redis) => createRateLimit(100, { log, redis, processes: 2 }))
  for (const one of [connection, other]) await vi.waitFor(() => expect(one.isReady()).toBe(true))
  try {
    await limits[0]?.spend(payer('acme'), 1)
    // A failover: the address leads to the second one, and the connection to the first one, a replica now, stays.
    proxy.retarget(second.port)
    spawnSync('redis-cli', ['-p', String(first.port), 'REPLICAOF', '127.0.0.1', String(second.port)])
    expect(await limits[1]?.spend(payer('acme'), 30)).toMatchObject({ remaining: 70 })
    const write = async () => {
      await limits[0]?.spend(payer('other'), 1)
      return lines
    }
    await expect.poll(write, { timeout: 10_000 }).toContain('Redis accepts writes again')
    expect(await limits[0]?.spend(payer('acme'), 1)).toMatchObject({ remaining: 69 })
    expect(lines.filter((line) => line.includes('replica'))).toEqual(['Redis is a replica: connecting again'])
  } finally {
    connection.close()
    other.close()
    await proxy.close()
    await Promise.all([first.stop(), second.stop()])
  }
})
