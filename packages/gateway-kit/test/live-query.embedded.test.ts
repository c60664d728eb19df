import { GatewayError } from '@fusion-gateway/base'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { LiveQuery } from '../src/live/live-query.ts'
import { Interruption } from '../src/subscription-values.ts'

interface Read {
  end(value: number): void
  fail(error: Error): void
}

/** A query whose reads end when the test says so, and somebody who follows it. */
function start() {
  const reads: Read[] = []
  const follower = { wake: () => undefined }
  const evaluate = () =>
    new Promise<{ result: { data: { value: number } }; isLast: false; rest: 0 }>((resolve, reject) => {
      reads.push({ end: (value) => resolve({ result: { data: { value } }, isLast: false, rest: 0 }), fail: reject })
    })
  const query = new LiveQuery<typeof follower>(0, evaluate, () => undefined)
  query.followers.add(follower)
  query.start()
  ends.push(() => query.remove(follower))
  /** The next read, when it has begun. */
  const nextRead = () => vi.waitUntil(() => reads.shift(), { timeout: 5_000, interval: 1 })
  const untilShown = (value: number) =>
    vi.waitUntil(() => query.version?.result.data?.['value'] === value, { timeout: 5_000, interval: 1 })
  return { query, nextRead, untilShown }
}

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

describe('a live query is read again', () => {
  it('if something has changed while it was read', async () => {
    const { query, nextRead, untilShown } = start()
    const first = await nextRead()
    // The first read has seen what was there before.
    query.outdate()
    first.end(1)
    await untilShown(1)
    const second = await nextRead()
    second.end(2)
    await untilShown(2)
  })

  it('if a row was deleted between two statements of a read, and ends if that fails as well', async () => {
    const { query, nextRead, untilShown } = start()
    for (const value of [1, 2]) {
      query.outdate()
      const interrupted = await nextRead()
      interrupted.fail(new Interruption('A row was deleted'))
      const next = await nextRead()
      next.end(value)
      await untilShown(value)
    }
    query.outdate()
    for (const message of ['The database is away', 'It still is']) {
      expect(query.failure).toBeUndefined()
      const read = await nextRead()
      read.fail(new Interruption(message))
    }
    await vi.waitUntil(() => query.failure, { timeout: 5_000, interval: 1 })
    expect(query.failure?.error).toMatchObject({ message: 'It still is' })
  })

  it('not after an error that repeats', async () => {
    const { query, nextRead } = start()
    const read = await nextRead()
    read.fail(new GatewayError('FORBIDDEN', 'Not with this key'))
    await vi.waitUntil(() => query.failure, { timeout: 5_000, interval: 1 })
    expect(query.begun).toBe(1)
  })
})
