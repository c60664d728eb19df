import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { createBufferedCounter } from '../../src/engine/limits/buffered-counter.ts'
import { createMemoryCounter, type PointCounter } from '../../src/engine/limits/point-counter.ts'

/** A counter that several processes ask. It remembers what they have asked. */
function createShared(points: number, now?: () => number) {
  const counter = createMemoryCounter(points, now)
  const asked: number[] = []
  const shared: PointCounter = (keyId, cost, isDone) => {
    asked.push(cost)
    return counter(keyId, cost, isDone)
  }
  return { shared, asked, spent: async (keyId: string) => (await counter(keyId, 0)).spent }
}

describe('a buffered counter', () => {
  it('asks once, and tells a moment later what it has taken, while a key is far from its limit', async () => {
    const { shared, asked, spent } = createShared(100_000)
    const take = createBufferedCounter(100_000, shared)
    expect(await take('key', 1)).toMatchObject({ isTaken: true, spent: 1 })
    for (let taken = 2; taken <= 50; taken += 1)
      expect(await take('key', 1)).toMatchObject({ isTaken: true, spent: taken })
    expect(asked).toEqual([1])
    await vi.waitFor(async () => expect(await spent('key')).toBe(50))
    expect(asked).toEqual([1, 49])
  })

  it('learns what other processes have taken', async () => {
    const { shared, spent } = createShared(100_000)
    const [one, other] = [createBufferedCounter(100_000, shared), createBufferedCounter(100_000, shared)]
    await Promise.all([one('key', 1), other('key', 1)])
    await Promise.all([one('key', 20), other('key', 30)])
    await vi.waitFor(async () => expect(await spent('key')).toBe(52))
    await one('key', 1)
    await vi.waitFor(async () => expect((await one('key', 0)).spent).toBe(53))
  })

  it('begins a new window when the old one has ended', async () => {
    let time = 0
    const { shared, asked } = createShared(100_000, () => time)
    const take = createBufferedCounter(100_000, shared, () => time)
    await take('key', 90_000)
    expect(await take('key', 20_000)).toMatchObject({ isTaken: false, spent: 90_000 })
    time = 60_000
    expect(await take('key', 20_000)).toMatchObject({ isTaken: true, spent: 20_000, resetMilliseconds: 60_000 })
    expect(asked).toEqual([90_000, 20_000, 20_000])
  })

  it('never takes more than the limit, however several processes take turns, and loses nothing', async () => {
    const points = 100_000
    // Most costs are small enough to be taken without asking, and all together are more than the limit.
    const operation = fc.record({ process: fc.nat({ max: 4 }), cost: fc.integer({ min: 20, max: 110 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 2_000, maxLength: 2_500 }), async (operations) => {
        const { shared, asked, spent } = createShared(points)
        const processes = Array.from({ length: 5 }, () => createBufferedCounter(points, shared))
        let sum = 0
        for (const { process, cost } of operations) {
          if ((await processes[process]?.('key', cost))?.isTaken) sum += cost
        }
        expect(asked.length).toBeLessThan(operations.length)
        expect(sum).toBeLessThanOrEqual(points)
        await vi.waitFor(async () => expect(await spent('key')).toBe(sum), { interval: 5 })
      }),
      { numRuns: 10, endOnFailure: true },
    )
  })
})
