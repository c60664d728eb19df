import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createRateLimit, type RateLimit } from '../../src/engine/limits/rate-limit.ts'
import { createRecentWrites } from '../../src/engine/limits/recent-writes.ts'
import { connectToRedis, type RedisConnection } from '../../src/engine/limits/redis.ts'
import { createMetrics } from '../../src/engine/telemetry/metrics.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { isRedisRunning, redisPort } from '../support/redis.ts'

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
