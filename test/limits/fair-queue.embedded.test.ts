import { setImmediate } from 'node:timers/promises'
import { createConcurrencyLimit, createFairQueues } from '@fusion-gateway/limits'
import { describe, expect, it } from 'vitest'

/** The key of a tenant, one of its own by default. */
const keyOf = (tenantAppId: string, keyId = 'key') => ({ tenantAppId, keyId })

/** A user of a token of a tenant. */
const userOf = (tenantAppId: string, userId: string, keyId = 'key') => ({ tenantAppId, keyId, userId })

/** Starts work that ends when the test says so. Records which work has started, and how much runs at a time. */
function record() {
  const started: string[] = []
  const ends: (() => void)[] = []
  return {
    started,
    work: (name: string) => () =>
      new Promise<string>((resolve) => {
        started.push(name)
        ends.push(() => resolve(name))
      }),
    async endOldest(): Promise<void> {
      ends.shift()?.()
      // The event loop makes up to 64 rounds after an operation that took long.
      for (let round = 0; round < 66; round += 1) await setImmediate()
    },
  }
}

describe('a fair queue', () => {
  it('runs one step at a time, and serves the tenant that has waited longest', async () => {
    const { parsing } = createFairQueues()
    const { started, work, endOldest } = record()
    const taken = [1, 2, 3].map((index) => parsing.run(keyOf('greedy', `${index}`), work(`greedy ${index}`)))
    taken.push(parsing.run(keyOf('modest'), work('modest')))
    await setImmediate()
    expect(started).toEqual(['greedy 1'])
    for (const count of [2, 3, 4]) {
      await endOldest()
      // A step that took long is followed by a pause.
      await expect.poll(() => started.length, { interval: 1 }).toBe(count)
    }
    await endOldest()
    expect(started).toEqual(['greedy 1', 'modest', 'greedy 2', 'greedy 3'])
    expect(await Promise.all(taken)).toEqual(['greedy 1', 'greedy 2', 'greedy 3', 'modest'])
  })

  it('runs at most two operations of a tenant, and four in all', async () => {
    const { operations } = createFairQueues()
    const { started, work, endOldest } = record()
    const tenants = ['a', 'a', 'a', 'b', 'b', 'c']
    const taken = tenants.map((tenant, index) => operations.run(keyOf(tenant, `${index}`), work(`${tenant}${index}`)))
    await setImmediate()
    expect(started).toEqual(['a0', 'a1', 'b3', 'b4'])
    await endOldest()
    expect(started.slice(4)).toEqual(['c5'])
    for (let index = 0; index < 5; index += 1) await endOldest()
    expect(started.slice(5)).toEqual(['a2'])
    await Promise.all(taken)
  })

  it("leaves a place to the tenant's keys, whatever its users run", async () => {
    const { operations } = createFairQueues()
    const { started, work, endOldest } = record()
    const ofUsers = ['ada', 'ada', 'bob'].map((user) => operations.run(userOf('a', user), work(user)))
    const ofKey = operations.run(keyOf('a'), work('key'))
    await setImmediate()
    expect(started).toEqual(['ada', 'key'])
    for (let index = 0; index < 4; index += 1) await endOldest()
    expect(started).toEqual(['ada', 'key', 'bob', 'ada'])
    await Promise.all([...ofUsers, ofKey])
  })

  /** Keeps the event loop busy. Returns when. */
  function block(milliseconds: number): number {
    const endsAt = performance.now() + milliseconds
    while (performance.now() < endsAt);
    return performance.now()
  }

  it('leaves the event loop to others for as long as a step took', async () => {
    const { parsing } = createFairQueues()
    const first = parsing.run(keyOf('a'), () => block(30))
    const second = parsing.run(keyOf('a'), () => performance.now())
    expect((await second) - (await first)).toBeGreaterThan(25)
  })

  it('lets the event loop make rounds, each of which accepts a connection, while a tenant has long operations', async () => {
    const { operations } = createFairQueues()
    const taken = Promise.all(Array.from({ length: 6 }, () => operations.run(keyOf('a'), () => block(30))))
    let rounds = 0
    let areRunning = true
    void taken.finally(() => {
      areRunning = false
    })
    for (; areRunning; rounds += 1) await setImmediate()
    await taken
    // Two operations run at a time, so there are rounds between three pairs.
    expect(rounds).toBeGreaterThan(50)
  })

  it('runs writes on six of ten connections, and those of a tenant on four', async () => {
    const { writes } = createFairQueues()
    const { started, work } = record()
    for (const key of ['a', 'b', 'c', 'd']) {
      for (let index = 0; index < 5; index += 1) void writes.run(keyOf(key, `${index}`), work(`${key}${index}`))
    }
    await setImmediate()
    expect(started).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1'])
  })

  it('leaves out the work of clients that have gone', async () => {
    const { parsing } = createFairQueues()
    const started: string[] = []
    const take = (name: string, isAbandoned?: () => boolean) =>
      parsing.run(keyOf('a'), () => started.push(name), isAbandoned)
    const outcomes = await Promise.allSettled([take('first'), take('gone', () => true), take('last')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(started).toEqual(['first', 'last'])
  })

  it('serves the keys and the users of a tenant in turn, and its users in turn', async () => {
    const { parsing } = createFairQueues()
    const started: string[] = []
    const take = (payer: ReturnType<typeof keyOf>, name: string) => parsing.run(payer, () => started.push(name))
    await Promise.all([
      ...[1, 2, 3].map((index) => take(userOf('a', 'ada'), `ada ${index}`)),
      ...[1, 2].map((index) => take(userOf('a', 'bob'), `bob ${index}`)),
      ...[1, 2].map((index) => take(keyOf('a'), `key ${index}`)),
      take(keyOf('b'), 'other tenant'),
    ])
    expect(started).toEqual(['ada 1', 'other tenant', 'key 1', 'bob 1', 'key 2', 'ada 2', 'bob 2', 'ada 3'])
  })

  it('starts the next work after a failure', async () => {
    const { parsing } = createFairQueues()
    const failed = parsing.run(keyOf('a'), () => Promise.reject(new Error('failed')))
    await expect(failed).rejects.toThrow('failed')
    expect(await parsing.run(keyOf('a'), () => 'done')).toBe('done')
  })
})

describe('the permits', () => {
  it('are rejected after a second if the key has none left, and free again when released', async () => {
    const limit = createConcurrencyLimit('in_flight_of_key', 2, 'requests')
    const release = await limit.take(keyOf('a'))
    await limit.take(keyOf('a'))
    const startedAt = performance.now()
    await expect(limit.take(keyOf('a'))).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The key has 2 requests, the most at a time.',
      headers: { 'retry-after': '1' },
    })
    expect(performance.now() - startedAt).toBeGreaterThan(950)
    expect(await limit.take(keyOf('b'))).toBeTypeOf('function')
    release()
    release()
    expect(limit.take(keyOf('a'))).toBeTypeOf('function')
    await expect(limit.take(keyOf('a'))).rejects.toThrow()
  })

  it('of a tenant are twice those of a key, however many keys it has', async () => {
    const limit = createConcurrencyLimit('in_flight_of_key', 2, 'requests', 0)
    for (const key of ['1', '2']) expect(await limit.take(keyOf('a', key), 2)).toBeTypeOf('function')
    await expect(limit.take(keyOf('a', '3'))).rejects.toThrow(
      "The tenant has 4 requests, the most at a time: twice a key's.",
    )
    expect(await limit.take(keyOf('b'))).toBeTypeOf('function')
  })

  it('of a user of tokens are a quarter of those of a key, of all users together those of a key, and the key keeps its own', async () => {
    const limit = createConcurrencyLimit('in_flight_of_key', 8, 'requests', 0)
    const releases = [await limit.take(userOf('a', 'ada')), await limit.take(userOf('a', 'ada', 'other key'))]
    await expect(limit.take(userOf('a', 'ada'))).rejects.toThrow('The user has 2 requests')
    for (const user of ['bob', 'cleo', 'dan']) expect(await limit.take(userOf('a', user), 2)).toBeTypeOf('function')
    await expect(limit.take(userOf('a', 'eve'))).rejects.toThrow("The users of the tenant's tokens have 8 requests")
    expect(await limit.take(keyOf('a'), 8)).toBeTypeOf('function')
    for (const release of releases) release()
    expect(limit.take(userOf('a', 'eve'), 2)).toBeTypeOf('function')
  })
})
