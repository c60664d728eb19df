import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createConcurrencyLimit } from '../../src/engine/limits/concurrency-limit.ts'
import { createFairQueues } from '../../src/engine/limits/fair-queue.ts'

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
      await setImmediate()
      await setImmediate()
    },
  }
}

describe('a fair queue', () => {
  it('run one step at a time, and serve the key that has waited longest', async () => {
    const { steps } = createFairQueues()
    const { started, work, endOldest } = record()
    const taken = [1, 2, 3].map((index) => steps.run('greedy', work(`greedy ${index}`)))
    taken.push(steps.run('modest', work('modest')))
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

  it('run at most two operations of a key, and four in all', async () => {
    const { operations } = createFairQueues()
    const { started, work, endOldest } = record()
    const keys = ['a', 'a', 'a', 'b', 'b', 'c']
    const taken = keys.map((key, index) => operations.run(key, work(`${key}${index}`)))
    await setImmediate()
    expect(started).toEqual(['a0', 'a1', 'b3', 'b4'])
    await endOldest()
    expect(started.slice(4)).toEqual(['c5'])
    for (let index = 0; index < 5; index += 1) await endOldest()
    expect(started.slice(5)).toEqual(['a2'])
    await Promise.all(taken)
  })

  it('leave the event loop to others for as long as a step took', async () => {
    const { steps } = createFairQueues()
    const first = steps.run('key', () => {
      const endsAt = performance.now() + 30
      while (performance.now() < endsAt);
      return performance.now()
    })
    const second = steps.run('key', () => performance.now())
    expect((await second) - (await first)).toBeGreaterThan(25)
  })

  it('run at most four transactions of a key, and any number in all', async () => {
    const { transactions } = createFairQueues()
    const { started, work } = record()
    for (const key of ['a', 'b', 'c', 'd']) {
      for (let index = 0; index < 5; index += 1) void transactions.run(key, work(`${key}${index}`))
    }
    await setImmediate()
    expect(started).toHaveLength(16)
  })

  it('leave out the work of clients that have gone', async () => {
    const { steps } = createFairQueues()
    const started: string[] = []
    const take = (name: string, isAbandoned?: () => boolean) => steps.run('key', () => started.push(name), isAbandoned)
    const outcomes = await Promise.allSettled([take('first'), take('gone', () => true), take('last')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(started).toEqual(['first', 'last'])
  })

  it('start the next work after a failure', async () => {
    const { steps } = createFairQueues()
    const failed = steps.run('key', () => Promise.reject(new Error('failed')))
    await expect(failed).rejects.toThrow('failed')
    expect(await steps.run('key', () => 'done')).toBe('done')
  })
})

describe('the permits of keys', () => {
  it('are rejected after a second if the key has none left, and free again when released', async () => {
    const limit = createConcurrencyLimit(2, 'requests', 'MAX_IN_FLIGHT_PER_KEY')
    const release = await limit.take({ keyId: 'key' })
    await limit.take({ keyId: 'key' })
    const startedAt = performance.now()
    await expect(limit.take({ keyId: 'key' })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The key has 2 requests, the most that it may have at a time (MAX_IN_FLIGHT_PER_KEY).',
      headers: { 'retry-after': '1' },
    })
    expect(performance.now() - startedAt).toBeGreaterThan(950)
    expect(await limit.take({ keyId: 'other' })).toBeTypeOf('function')
    release()
    release()
    expect(limit.take({ keyId: 'key' })).toBeTypeOf('function')
    await expect(limit.take({ keyId: 'key' })).rejects.toThrow()
  })

  it('are at most a quarter of those of the key for a user of a token', async () => {
    const limit = createConcurrencyLimit(8, 'requests', 'MAX_IN_FLIGHT_PER_KEY')
    const [ada, bob] = [
      { keyId: 'key', userId: 'ada' },
      { keyId: 'key', userId: 'bob' },
    ]
    const releases = [await limit.take(ada), await limit.take(ada)]
    await expect(limit.take(ada)).rejects.toThrow('The user has 2 requests')
    expect(await limit.take(bob, 2)).toBeTypeOf('function')
    expect(await limit.take({ keyId: 'key' }, 4)).toBeTypeOf('function')
    await expect(limit.take({ keyId: 'key' })).rejects.toThrow('The key has 8 requests')
    for (const release of releases) release()
    expect(limit.take(ada, 2)).toBeTypeOf('function')
  })
})
